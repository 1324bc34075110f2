# Bash completion of kernelwright: commands, operations and options as the program itself lists them with --help, so
# that this file knows none of them.

_kernelwright() {
  local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} path=() help index
  COMPREPLY=()
  for ((index = 1; index < COMP_CWORD; ++index)); do # the command, and the operation behind it
    [[ ${COMP_WORDS[index]} == help ]] && continue # which takes commands
    [[ ${COMP_WORDS[index]} == [a-z]* ]] || break
    path+=("${COMP_WORDS[index]}")
  done
  help=$("${COMP_WORDS[0]}" "${path[@]}" --help 2>/dev/null) || return 0
  case $previous in
    --json | --out | -o | --dump | --cache) # a file; an empty reply leaves it to readline where -o default is set
      return 0 ;;
    --*) # one of the words that the option takes: TEXT:{hot,cold}
      local choices
      choices=$(sed -nE "s/^ *(-.,)?$previous [A-Z]+:\{([^}]*)\}.*/\2/p" <<<"$help")
      if [[ -n $choices ]]; then
        mapfile -t COMPREPLY < <(compgen -W "${choices//,/ }" -- "$word")
        return 0
      fi ;;
  esac
  if [[ $word == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$(grep -oE '^ *(-.,)?--[a-z0-9-]+' <<<"$help" | grep -oE -e '--[a-z0-9-]+')" -- "$word")
  else
    local words
    words=$(awk '/^[A-Z]/ { on = /^Subcommands:/ } on && /^  [a-z]/ { print $1 }
      /^  [a-z]+ [A-Z]+:[{]/ { gsub(/.*[{]|[}].*/, ""); gsub(/,/, " "); print }' <<<"$help") # or a word of a set
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
  fi
}
complete -o default -F _kernelwright kernelwright
