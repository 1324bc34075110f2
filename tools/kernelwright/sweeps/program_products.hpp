// Products that programs compute, for `--sweep programs`, row-major as the programs call them.
#pragma once

#include <array>
#include <cstdint>

#include "kernelwright/matrix.hpp"

namespace kw {

struct ProgramProduct {
  const char* program;
  std::int64_t m, n, k;
  Op op_a, op_b;
  std::int64_t batch = 1;
};

// A layer keeps its weights as [out][in]: forward X W^T, gradient of the input dY W, of the weights
// dY^T X. A convolution by im2col multiplies one row of patches a pixel by its filters. Points,
// samples and tokens are rows.
inline constexpr auto program_products = [] {
  constexpr Op N = Op::none, T = Op::transpose;
  return std::to_array<ProgramProduct>({
      {"GPT-2 small, 8 x 1024 tokens: QKV", 8192, 2304, 768, N, T},
      {"GPT-2 small, 8 x 1024 tokens: attention scores", 1024, 1024, 64, N, T, 96},
      {"GPT-2 small, 8 x 1024 tokens: attention values", 1024, 64, 1024, N, N, 96},
      {"GPT-2 small, 8 x 1024 tokens: projection", 8192, 768, 768, N, T},
      {"GPT-2 small, 8 x 1024 tokens: MLP up", 8192, 3072, 768, N, T},
      {"GPT-2 small, 8 x 1024 tokens: MLP down", 8192, 768, 3072, N, T},
      {"GPT-2 small, 8 x 1024 tokens: MLP up, gradient of the input", 8192, 768, 3072, N, N},
      {"GPT-2 small, 8 x 1024 tokens: MLP up, gradient of the weights", 3072, 768, 8192, T, N},
      {"GPT-2 small, 1024 tokens: logits", 1024, 50257, 768, N, T},
      {"BERT large, 16 x 384 tokens: QKV", 6144, 3072, 1024, N, T},
      {"BERT large, 16 x 384 tokens: attention scores", 384, 384, 64, N, T, 256},
      {"Llama 7B, 2048 tokens: QKV", 2048, 12288, 4096, N, T},
      {"Llama 7B, 2048 tokens: gate and up", 2048, 22016, 4096, N, T},
      {"Llama 7B, 2048 tokens: down", 2048, 4096, 11008, N, T},
      {"Llama 7B, decoding one token: projection", 1, 4096, 4096, N, T},
      {"Llama 7B, decoding 16 sequences: down", 16, 4096, 11008, N, T},
      {"ViT-B/16, 64 images: patch embedding", 12544, 768, 768, N, T},
      {"ViT-B/16, 64 images: MLP up", 12608, 3072, 768, N, T},
      {"ResNet-50, 32 images, im2col: 7x7 stem", 401408, 64, 147, N, T},
      {"ResNet-50, 32 images, im2col: 3x3 of 64", 100352, 64, 576, N, T},
      {"ResNet-50, 32 images, im2col: 3x3 of 128", 25088, 128, 1152, N, T},
      {"ResNet-50, 32 images, im2col: 3x3 of 512", 1568, 512, 4608, N, T},
      {"ResNet-50, 32 images: 1x1 of 64 to 256", 100352, 256, 64, N, T},
      {"ResNet-50, 256 images: classifier", 256, 1000, 2048, N, T},
      {"LSTM of 650, 20 sequences: gates", 20, 2600, 650, N, T},
      {"DLRM, 2048 queries: first layer of 13 features", 2048, 512, 13, N, T},
      {"DLRM, 2048 queries: pairs of 27 embeddings", 27, 27, 64, N, T, 2048},
      {"Graph convolution, Reddit: features to 128", 232965, 128, 602, N, N},
      {"NeRF, 65536 samples: layer of 256", 65536, 256, 256, N, T},
      {"NeRF, 65536 samples: colour of 128", 65536, 3, 128, N, T},
      {"k-means, MNIST, 1000 centres: distances", 60000, 1000, 784, N, T},
      {"k-means, 10^6 points in 16 dimensions, 64 centres: distances", 1000000, 64, 16, N, T},
      {"Nearest words, 100 of 400000 in 300 dimensions", 100, 400000, 300, N, T},
      {"Gaussian process, 8192 points in 21 dimensions: kernel matrix", 8192, 8192, 21, N, T},
      {"Gaussian process, 5000 new points: mean", 5000, 1, 8192, N, N},
      {"Gaussian process, 1024 inducing points: cross-covariance", 1024, 1024, 50000, N, T},
      {"Covariance, MNIST: X^T X", 784, 784, 60000, T, N},
      {"Covariance, 10^6 samples of 100: X^T X", 100, 100, 1000000, T, N},
      {"Least squares, 10^5 samples of 500: X^T y", 500, 1, 100000, T, N},
      {"Randomized SVD, 16384 x 8192, rank 74: sketch", 16384, 74, 8192, N, N},
      {"Randomized SVD, 16384 x 8192, rank 74: Q^T A", 74, 8192, 16384, T, N},
      {"CholeskyQR, 10^6 x 32: Gram matrix", 32, 32, 1000000, T, N},
      {"Blocked QR, 32768 x 2048, panel of 64: V^T A", 64, 2048, 32768, T, N},
      {"Blocked QR, 32768 x 2048, panel of 64: update", 32768, 2048, 64, N, N},
      {"Blocked Cholesky, 10240, panel of 128: update", 10112, 10112, 128, N, T},
  });
}();

}  // namespace kw
