// GPT-2 on the library: every layer and every logit against float64, a cache against none, files of
// weights that are right and that are not.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>

#include "api/support.hpp"
#include "model.hpp"
#include "reference.hpp"

namespace kw::gpt2 {
namespace {

std::vector<std::int64_t> some_tokens(const Config& config, std::int64_t count) {
  std::vector<std::int64_t> tokens;
  for (std::int64_t i = 0; i < count; ++i) tokens.push_back((i * 37 + 11) % config.vocabulary);
  return tokens;
}

// The largest error by the largest value.
template <class Values>
double relative_error(const Values& got, const double* want, std::size_t count) {
  double largest = 0, error = 0;
  for (std::size_t i = 0; i < count; ++i) {
    largest = std::max(largest, std::fabs(want[i]));
    const double off = std::fabs(static_cast<double>(got[i]) - want[i]);
    if (!(off <= error)) error = off;
  }
  return error / largest;
}

class Gpt2OnDevice : public testing::TestWithParam<DeviceKind> {
 protected:
  Context context = detail::open_context(GetParam());
  Config config = named_config("tiny");
  Tensors weights = random_weights(config, seed_of(7));
};

INSTANTIATE_TEST_SUITE_P(Devices, Gpt2OnDevice, testing::ValuesIn(test::present_devices()),
                         test::device_test_name);

constexpr double fp32_error = 64 * 0x1p-24;

TEST_P(Gpt2OnDevice, EveryLayerAndLogitAgainstFloat64) {
  constexpr std::int64_t batch = 2, count = 9;
  Gpt2 model(context, config, weights, batch, 20, count, Math::fp32);
  const std::vector<std::int64_t> tokens = some_tokens(config, batch * count);
  const DeviceArray on_device(context, batch * count * 8);
  model.put(tokens, on_device.as<std::int64_t>());
  std::vector<std::vector<float>> hidden;
  model.on_part([&](const std::string& part, std::int64_t, const std::function<void()>& work) {
    work();
    if (part == "embedding" || part == "mlp out")
      hidden.push_back(model.get(model.hidden(), batch * count * config.width));
  });
  model.forward(on_device.as<std::int64_t>(), count, 0, false);
  const std::vector<float> logits = model.get(model.logits(), batch * count * config.vocabulary);
  for (std::int64_t b = 0; b < batch; ++b) {
    const Reference want =
        reference(config, weights, {tokens.begin() + b * count, tokens.begin() + (b + 1) * count});
    ASSERT_EQ(hidden.size(), want.hidden.size());
    for (std::size_t i = 0; i < hidden.size(); ++i) {
      const std::size_t own = want.hidden[i].size();
      const double error = relative_error(hidden[i].data() + static_cast<std::size_t>(b) * own,
                                          want.hidden[i].data(), own);
      EXPECT_LE(error, fp32_error) << "sequence " << b << " before layer " << i;
    }
    EXPECT_LE(relative_error(logits.data() + static_cast<std::size_t>(b) * want.logits.size(),
                             want.logits.data(), want.logits.size()),
              fp32_error);
  }
}

// With the cache token by token, and the whole sequence at once.
TEST_P(Gpt2OnDevice, TheCacheKeepsWhatWasBefore) {
  constexpr std::int64_t batch = 2, count = 7;
  const std::vector<std::int64_t> tokens = some_tokens(config, batch * count);
  Gpt2 model(context, config, weights, batch, 12, 4, Math::fp32);
  std::vector<float> logits;
  std::int64_t past = 0;
  for (const std::int64_t step : {3, 1, 2, 1}) {
    std::vector<std::int64_t> part;
    for (std::int64_t b = 0; b < batch; ++b) {
      const auto begin = tokens.begin() + b * count + past;
      part.insert(part.end(), begin, begin + step);
    }
    const DeviceArray on_device(context, batch * step * 8);
    model.put(part, on_device.as<std::int64_t>());
    model.forward(on_device.as<std::int64_t>(), step, past, true);
    logits = model.get(model.logits(), batch * config.vocabulary);
    past += step;
  }
  for (std::int64_t b = 0; b < batch; ++b) {
    const Reference want =
        reference(config, weights, {tokens.begin() + b * count, tokens.begin() + (b + 1) * count});
    const auto vocabulary = static_cast<std::size_t>(config.vocabulary);
    EXPECT_LE(relative_error(logits.data() + static_cast<std::size_t>(b) * vocabulary,
                             want.logits.data() + (count - 1) * vocabulary, vocabulary),
              fp32_error);
  }
}

TEST_P(Gpt2OnDevice, GeneratesTheLargestLogitsToken) {
  constexpr std::int64_t given = 5, count = 6;
  const std::vector<std::int64_t> prompt = some_tokens(config, given);
  Gpt2 model(context, config, weights, 1, given + count, given, Math::fp32);
  const std::vector<std::int64_t> got = model.generate(prompt, count);
  ASSERT_EQ(got.size(), static_cast<std::size_t>(given + count));
  EXPECT_TRUE(std::equal(prompt.begin(), prompt.end(), got.begin()));
  for (std::int64_t i = given; i < given + count; ++i) {
    const Reference want = reference(config, weights, {got.begin(), got.begin() + i});
    const double* last = want.logits.data() + (i - 1) * config.vocabulary;
    const double largest = *std::max_element(last, last + config.vocabulary);
    EXPECT_NEAR(last[got[static_cast<std::size_t>(i)]], largest, 1e-6 * std::fabs(largest));
  }
}

TEST(Gpt2, CallsThatDoNotFit) {
  Context context = Context::cpu();
  const Config config = named_config("tiny");
  const Tensors weights = random_weights(config, 1);
  EXPECT_THROW(Gpt2(context, config, weights, 1, config.positions + 1, 1, Math::fp32),
               std::runtime_error);
  Gpt2 model(context, config, weights, 1, 8, 4, Math::fp32);
  const std::int64_t token = 0;
  EXPECT_THROW(model.forward(&token, 5, 0, true), std::runtime_error);
  EXPECT_THROW(model.forward(&token, 1, 8, true), std::runtime_error);
  EXPECT_THROW(named_config("7B"), std::runtime_error);
}

class SafetensorsFile : public testing::Test {
 protected:
  std::string path = testing::TempDir() + "kw_gpt2_" + std::to_string(seed_of(3)) +
                     testing::UnitTest::GetInstance()->current_test_info()->name();
  ~SafetensorsFile() override { std::remove(path.c_str()); }

  void write(const std::string& header, const std::string& data,
             std::uint64_t claimed = ~std::uint64_t{0}) {
    const std::uint64_t length = claimed == ~std::uint64_t{0} ? header.size() : claimed;
    std::ofstream file(path, std::ios::binary);
    file.write(reinterpret_cast<const char*>(&length), sizeof length);
    file << header << data;
  }
  std::string refusal() {
    try {
      read_safetensors(path);
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return "it was read";
  }
};

TEST_F(SafetensorsFile, KeepsEveryTensor) {
  const Config config = named_config("tiny");
  const Tensors weights = random_weights(config, 5);
  Tensors named;
  for (const auto& [name, tensor] : weights) named["transformer." + name] = tensor;
  write_safetensors(path, named);
  Tensors read = read_safetensors(path);
  const Config found = config_of(read, config.heads);
  EXPECT_EQ(found.layers, config.layers);
  EXPECT_EQ(found.vocabulary, config.vocabulary);
  ASSERT_EQ(read.size(), weights.size());
  for (const auto& [name, tensor] : weights) EXPECT_EQ(read.at(name).values, tensor.values) << name;
}

TEST_F(SafetensorsFile, ReadsHalves) {
  const std::string header =
      R"({"__metadata__":{"a":"b"},"x":{"dtype":"F16","shape":[2],"data_offsets":[0,4]},)"
      R"("y":{"dtype":"BF16","shape":[1,1],"data_offsets":[4,6]},)"
      R"("z":{"dtype":"I64","shape":[0],"data_offsets":[6,6]}})";
  write(header, std::string("\x00\x3c\x00\xc1\x80\x3f", 6));
  const Tensors read = read_safetensors(path);
  EXPECT_EQ(read.at("x").values, (std::vector<float>{1.0f, -2.5f}));
  EXPECT_EQ(read.at("y").values, (std::vector<float>{1.0f}));
  EXPECT_EQ(read.count("z"), 0u);
}

TEST_F(SafetensorsFile, WhatIsWrongIsTold) {
  const auto expect = [&](const std::string& header, const std::string& data,
                          const std::string& fragment, std::uint64_t claimed = ~std::uint64_t{0}) {
    write(header, data, claimed);
    EXPECT_NE(refusal().find(fragment), std::string::npos) << header << ": " << refusal();
  };
  expect("{}", "", "its header takes", std::uint64_t{1} << 60);
  expect("{", "", "no header of safetensors");
  expect("[]", "", "no JSON object");
  expect(R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", "1234", "x takes 8 bytes");
  expect(R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", "1234", "x takes 8 bytes");
  expect(R"({"x":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", "1234", "extent of -1");
  expect(R"({"x":{"dtype":"F32"}})", "1234", "no header of safetensors");
  std::ofstream(path) << "abc";
  EXPECT_NE(refusal().find("ends within"), std::string::npos) << refusal();
  std::remove(path.c_str());
  EXPECT_NE(refusal().find("cannot be opened"), std::string::npos);
  Tensors none;
  EXPECT_THROW(config_of(none), std::runtime_error);
  Tensors wrong = random_weights(named_config("tiny"), 1);
  wrong["h.1.ln_2.bias"].shape = {3};
  EXPECT_THROW(config_of(wrong, 3), std::runtime_error);
}

}  // namespace
}  // namespace kw::gpt2
