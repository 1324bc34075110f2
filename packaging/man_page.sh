#!/bin/sh
# man_page.sh PROGRAM PAGE: writes the man page of the kernelwright program from what its commands say with --help.
set -eu
program=$1
page=$2

commands() { # commands [COMMAND...]: the names under "Subcommands:" of --help
  "$program" "$@" --help | awk '/^[A-Z]/ { on = /^Subcommands:/ } on && /^  [a-z]/ { print $1 }'
}

# section NAME...: one command's help as text for troff. Options and commands become entries, examples stay as typed.
section() {
  "$program" "$@" --help | awk '
    function plain(text) { # as troff prints it unchanged
      gsub(/\\/, "\\e", text)
      gsub(/-/, "\\-", text)
      gsub(/\047/, "\\(aq", text)
      if (text ~ /^\./) text = "\\\\&" text
      return text
    }
    function close_examples() { if (typed) print ".fi\n.RE"; typed = 0 }
    NR == 1 { print plain($0) ($0 ~ /\.$/ ? "" : "."); next }
    /^Usage: / { print ".PP\n.B " plain(substr($0, 8)); next }
    /^ *-h,--help / { next }
    /^Examples?:/ { close_examples(); print ".PP\nExamples:\n.RS\n.nf"; typed = 1; next }
    /^[^ ].*:$/ { close_examples(); next } # Options, Subcommands, Positionals: their entries show what they are
    typed && /^$/ { close_examples(); next }
    typed { sub(/^  /, ""); print plain($0); next }
    /^  [^ ]/ { # an entry: its name, then at least two spaces or a line of its own, then what it is
      line = substr($0, 3)
      at = match(line, /  +/)
      name = at ? substr(line, 1, at - 1) : line
      print ".TP\n.B " plain(name)
      if (at) print plain(substr(line, at + RLENGTH))
      entry = 1
      next
    }
    /^   +[^ ]/ { sub(/^ +/, ""); print plain($0); next }
    /^$/ { gap = 1; next }
    { if (gap) print ".PP"; gap = 0; print plain($0) }
    END { close_examples() }'
}

version=$("$program" --version)
{
  printf '.TH KERNELWRIGHT 1 "" "%s" "User Commands"\n' "$version"
  printf '.SH NAME\nkernelwright \\- verify, time and report matrix kernels and reductions\n'
  printf '.SH SYNOPSIS\n.B kernelwright\n.I COMMAND\n[\\fIOPTION\\fR]...\n'
  printf '.SH DESCRIPTION\n'
  section
  printf '.SH COMMANDS\n'
  for command in $(commands); do
    printf '.SS kernelwright %s\n' "$command"
    section "$command"
    for operation in $(commands "$command"); do
      printf '.SS kernelwright %s %s\n' "$command" "$operation"
      section "$command" "$operation"
    done
  done
  cat <<'TEXT'
.SH ENVIRONMENT
.TP
.B KERNELWRIGHT_TUNE_CACHE
A file that \fBkernelwright tune\fR wrote: which kernel computes which shape.
.TP
.B KERNELWRIGHT_PYTHON
The Python of \fBkernelwright report\fR.
TEXT
} >"$page"
