// Every figure has its source beside it. "assumed" is not measured: made up from similar models.
// Samples/s are those of one GPU in the precision the source used, so kinds from different sources
// compare only roughly. Which GPU a tag of Sia's stands for is not in its files; taken as T4 for
// aws, RTX 2080 Ti for rtx, A100 for dgx-ext. Restarts that Sia measured include reading the
// checkpoint.
#include "perf/catalogue_data.h"

namespace trainyard {

const std::string_view kCatalogueData = R"toml(
kind = [
  {name = "K80", relative = 0.14, source = "Gavel, ResNet-50, batch 64: K80 against V100"},
  {name = "P100", relative = 0.6, source = "Gavel, ResNet-50, batch 64: P100 against V100"},
  {name = "V100", relative = 1, source = "by definition"},
  {name = "T4", relative = 0.4, source = "assumed"},
  {name = "RTX 2080 Ti", relative = 0.73, source = "Lambda, RTX 2080 Ti benchmarks, 2019: mean over seven models, single precision"},
  {name = "A100", relative = 2.56, source = "NVIDIA DeepLearningExamples, ResNet-50 for PyTorch 21.03: TF32 against single precision"},
  {name = "H100", relative = 5.3, source = "A100's times 2.06: NVIDIA NeMo, ViT g/14, one node of eight"},
]

[[model]]
name = "AlexNet"
task = "image classification"
parameters = 61.1e6
batch = 512
gradient_mb = 244
largest_tensor = 0.611
start_up_s = 62
overlap = 0.2
speed = [
  {kind = "P100", samples_per_s = 2987, source = "TensorFlow benchmarks, May 2017: DGX-1, single precision"},
  {kind = "K80", samples_per_s = 656, source = "TensorFlow benchmarks, May 2017: Google Compute Engine, single precision"},
]
[model.sources]
parameters = "torchvision model table"
batch = "TensorFlow benchmarks"
gradient_mb = "Dally's simulator"
largest_tensor = "Tiresias simulator, model sizes"
start_up_s = "assumed: Tiresias' average restart"
overlap = "assumed: the largest tensor is exchanged last and alone"

[[model]]
name = "VGG-11"
task = "image classification"
aliases = ["VGG"]
parameters = 132.9e6
batch = 64
gradient_mb = 531
largest_tensor = 0.774
start_up_s = 62
overlap = 0.2
speed = [
  {kind = "P100", samples_per_s = 308, source = "assumed: VGG-16's by operations, 15.5 to 7.6 billion"},
]
[model.sources]
parameters = "torchvision model table"
batch = "assumed: as VGG-16"
gradient_mb = "Dally's simulator"
largest_tensor = "Tiresias simulator, model sizes"
start_up_s = "assumed: Tiresias' average restart"
overlap = "assumed: the largest tensor is exchanged last and alone"

[[model]]
name = "VGG-16"
task = "image classification"
parameters = 138.4e6
batch = 64
largest_tensor = 0.744
start_up_s = 62
overlap = 0.2
speed = [
  {kind = "P100", samples_per_s = 154, source = "TensorFlow benchmarks, May 2017: DGX-1, single precision"},
  {kind = "K80", samples_per_s = 35.4, source = "TensorFlow benchmarks, May 2017: Google Compute Engine, single precision"},
]
[model.sources]
parameters = "torchvision model table"
batch = "TensorFlow benchmarks (32 on the K80)"
largest_tensor = "Tiresias simulator, model sizes"
start_up_s = "assumed: Tiresias' average restart"
overlap = "assumed: the largest tensor is exchanged last and alone"

[[model]]
name = "VGG-19"
task = "image classification"
parameters = 143.7e6
batch = 64
largest_tensor = 0.717
start_up_s = 62
overlap = 0.2
speed = [
  {kind = "P100", samples_per_s = 122, source = "assumed: VGG-16's by operations, 15.5 to 19.6 billion"},
]
[model.sources]
parameters = "torchvision model table"
batch = "assumed: as VGG-16"
largest_tensor = "Tiresias simulator, model sizes"
start_up_s = "assumed: Tiresias' average restart"
overlap = "assumed: the largest tensor is exchanged last and alone"

[[model]]
name = "ResNet-18"
task = "image classification, CIFAR-10"
parameters = 11.7e6
batch = 128
gradient_mb = 47
largest_tensor = 0.2
start_up_s = 30
overlap = 0.22
curve = {limit = 0.9622, start = 0.1, to_95 = 0.254}
speed = [
  {kind = "V100", samples_per_s = 2303, source = "Gavel, simulation_throughputs.json, batch 128"},
  {kind = "P100", samples_per_s = 1494, source = "Gavel, simulation_throughputs.json, batch 128"},
  {kind = "K80", samples_per_s = 231, source = "Gavel, simulation_throughputs.json, batch 128"},
  {kind = "T4", samples_per_s = 1242, source = "Sia artifact, placements-aws.csv, batch 129"},
  {kind = "RTX 2080 Ti", samples_per_s = 1731, source = "Sia artifact, placements-rtx.csv, batch 129"},
  {kind = "A100", samples_per_s = 3332, source = "Sia artifact, placements-dgx-ext.csv, batch 129"},
]
[model.sources]
curve = "Sia artifact, cifar10/validation-128.csv: its end, and when it first has 95% of that; begins at chance"
parameters = "torchvision model table"
batch = "Gavel"
gradient_mb = "Dally's simulator"
largest_tensor = "its last convolution, 512 x 512 x 9 numbers"
start_up_s = "Sia, measured restart"
overlap = "median of the fits to Sia's six systems, which differ widely (trainyard models --fit)"

[[model]]
name = "ResNet-50"
task = "image classification, ImageNet"
parameters = 25.6e6
batch = 64
gradient_mb = 102
largest_tensor = 0.112
start_up_s = 250
overlap = 0.37
curve = {limit = 0.8473, start = 0.001, to_95 = 0.672}
speed = [
  {kind = "V100", samples_per_s = 281, source = "Gavel, simulation_throughputs.json, batch 64"},
  {kind = "P100", samples_per_s = 168, source = "Gavel, simulation_throughputs.json, batch 64"},
  {kind = "K80", samples_per_s = 39.6, source = "Gavel, simulation_throughputs.json, batch 64"},
  {kind = "T4", samples_per_s = 176, source = "Sia artifact, placements-aws.csv, batch 57"},
  {kind = "RTX 2080 Ti", samples_per_s = 266, source = "Sia artifact, placements-rtx.csv, batch 57"},
  {kind = "A100", samples_per_s = 342, source = "Sia artifact, placements-dgx-ext.csv, batch 57"},
]
[model.sources]
curve = "Sia artifact, imagenet/validation-200.csv: its end, and when it first has 95% of that; begins at chance; its plateaus are not in the form"
parameters = "torchvision model table"
batch = "Gavel"
gradient_mb = "Dally's simulator"
largest_tensor = "Tiresias simulator, model sizes"
start_up_s = "Sia, measured restart"
overlap = "median of the fits to Sia's six systems, which differ widely (trainyard models --fit)"

[[model]]
name = "ResNet-101"
task = "image classification"
parameters = 44.5e6
batch = 64
largest_tensor = 0.075
start_up_s = 62
overlap = 0.37
speed = [
  {kind = "V100", samples_per_s = 213, source = "assumed: ResNet-50's (405, Lambda 2019) by operations, 4.1 to 7.8 billion"},
]
[model.sources]
parameters = "torchvision model table"
batch = "assumed: as ResNet-152"
largest_tensor = "Tiresias simulator, model sizes"
start_up_s = "assumed: Tiresias' average restart"
overlap = "assumed: as ResNet-50"

[[model]]
name = "ResNet-152"
task = "image classification"
parameters = 60.2e6
batch = 64
largest_tensor = 0.06
start_up_s = 62
overlap = 0.37
speed = [
  {kind = "V100", samples_per_s = 155, source = "Lambda, RTX 2080 Ti benchmarks, 2019: TensorFlow 1.12, single precision"},
  {kind = "P100", samples_per_s = 91.8, source = "TensorFlow benchmarks, May 2017: DGX-1, single precision"},
  {kind = "K80", samples_per_s = 20, source = "TensorFlow benchmarks, May 2017: Google Compute Engine, single precision"},
  {kind = "RTX 2080 Ti", samples_per_s = 110, source = "Lambda, RTX 2080 Ti benchmarks, 2019: TensorFlow 1.12, single precision"},
]
[model.sources]
parameters = "torchvision model table"
batch = "TensorFlow benchmarks (32 on the K80)"
largest_tensor = "Tiresias simulator, model sizes"
start_up_s = "assumed: Tiresias' average restart"
overlap = "assumed: as ResNet-50"

[[model]]
name = "MobileNetV3"
task = "image classification, the small variant"
parameters = 2.54e6
batch = 128
gradient_mb = 9.9
largest_tensor = 0.4
start_up_s = 62
overlap = 0.37
speed = [
  {kind = "V100", samples_per_s = 1800, source = "assumed: bound by memory, about six times ResNet-50's"},
]
[model.sources]
parameters = "torchvision model table"
batch = "assumed"
gradient_mb = "Dally's simulator"
largest_tensor = "its classifier, 1024 x 1000 numbers"
start_up_s = "assumed: Tiresias' average restart"
overlap = "assumed: as ResNet-50"

[[model]]
name = "InceptionV3"
task = "image classification"
aliases = ["Inception3"]
parameters = 27.2e6
batch = 64
largest_tensor = 0.138
start_up_s = 62
overlap = 0.37
speed = [
  {kind = "V100", samples_per_s = 259, source = "Lambda, RTX 2080 Ti benchmarks, 2019: TensorFlow 1.12, single precision"},
  {kind = "P100", samples_per_s = 142, source = "TensorFlow benchmarks, May 2017: DGX-1, single precision"},
  {kind = "K80", samples_per_s = 30.5, source = "TensorFlow benchmarks, May 2017: Google Compute Engine, single precision"},
  {kind = "RTX 2080 Ti", samples_per_s = 194, source = "Lambda, RTX 2080 Ti benchmarks, 2019: TensorFlow 1.12, single precision"},
]
[model.sources]
parameters = "torchvision model table"
batch = "TensorFlow benchmarks"
largest_tensor = "Tiresias simulator, model sizes"
start_up_s = "assumed: Tiresias' average restart"
overlap = "assumed: as ResNet-50"

[[model]]
name = "InceptionV4"
task = "image classification"
aliases = ["Inception4"]
parameters = 42.7e6
batch = 64
largest_tensor = 0.044
start_up_s = 62
overlap = 0.37
speed = [
  {kind = "V100", samples_per_s = 112, source = "Lambda, RTX 2080 Ti benchmarks, 2019: TensorFlow 1.12, single precision"},
  {kind = "RTX 2080 Ti", samples_per_s = 79, source = "Lambda, RTX 2080 Ti benchmarks, 2019: TensorFlow 1.12, single precision"},
]
[model.sources]
parameters = "timm model table"
batch = "assumed: as InceptionV3"
largest_tensor = "Tiresias simulator, model sizes"
start_up_s = "assumed: Tiresias' average restart"
overlap = "assumed: as ResNet-50"

[[model]]
name = "YOLOv3"
task = "object detection"
parameters = 61.9e6
batch = 8
largest_tensor = 0.076
start_up_s = 45
overlap = 0.05
curve = {limit = 0.5731, start = 0, to_95 = 0.655}
speed = [
  {kind = "T4", samples_per_s = 24.5, source = "Sia artifact, placements-aws.csv, batch 8"},
  {kind = "RTX 2080 Ti", samples_per_s = 13.5, source = "Sia artifact, placements-rtx.csv, batch 8"},
  {kind = "A100", samples_per_s = 26.5, source = "Sia artifact, placements-dgx-ext.csv, batch 8"},
]
[model.sources]
curve = "Sia artifact, yolov3/validation-8.csv: the part of its first loss that is gone at its end, and when it first has 95% of that"
parameters = "Redmon and Farhadi 2018, the published weights"
batch = "Sia"
largest_tensor = "its widest convolution, 512 x 1024 x 9 numbers"
start_up_s = "Sia, measured restart"
overlap = "median of the fits to Sia's six systems, which differ widely (trainyard models --fit)"

[[model]]
name = "ViT-B/16"
task = "image classification"
aliases = ["ViT"]
parameters = 86.6e6
batch = 128
optimiser = "adam"
largest_tensor = 0.027
start_up_s = 62
overlap = 0.37
speed = [
  {kind = "V100", samples_per_s = 381, source = "pytorch-ddp-bench, V100 against A100: half precision"},
  {kind = "A100", samples_per_s = 1030, source = "pytorch-ddp-bench, V100 against A100: half precision"},
]
[model.sources]
parameters = "torchvision model table"
batch = "the V100's measurement (1024 on the A100)"
largest_tensor = "the larger layer of a block, 768 x 3072 numbers"
start_up_s = "assumed: Tiresias' average restart"
overlap = "assumed: as ResNet-50"

[[model]]
name = "DeepSpeech2"
task = "speech recognition"
parameters = 38e6
batch = 20
largest_tensor = 0.1
start_up_s = 25
overlap = 0.37
curve = {limit = 0.7915, start = 0, to_95 = 0.343}
speed = [
  {kind = "T4", samples_per_s = 29.4, source = "Sia artifact, placements-aws.csv, batch 20"},
  {kind = "RTX 2080 Ti", samples_per_s = 50.8, source = "Sia artifact, placements-rtx.csv, batch 20"},
  {kind = "A100", samples_per_s = 35, source = "Sia artifact, placements-dgx-ext.csv, batch 20"},
]
[model.sources]
curve = "Sia artifact, deepspeech2/validation-20.csv: the part of its first word error rate that is gone at its end, and when it first has 95% of that"
parameters = "assumed: about the size of the models that Amodei et al. 2016 compare"
batch = "Sia"
largest_tensor = "assumed"
start_up_s = "Sia, measured restart"
overlap = "median of the fits to Sia's six systems, which differ widely (trainyard models --fit)"

[[model]]
name = "LSTM LM"
task = "language model, WikiText-2; a sample is a sequence"
aliases = ["LM", "LSTM"]
parameters = 14.0e6
batch = 20
largest_tensor = 0.475
start_up_s = 62
overlap = 0.2
speed = [
  {kind = "V100", samples_per_s = 1295, source = "Gavel, simulation_throughputs.json, batch 20"},
  {kind = "P100", samples_per_s = 1163, source = "Gavel, simulation_throughputs.json, batch 20"},
  {kind = "K80", samples_per_s = 343, source = "Gavel, simulation_throughputs.json, batch 20"},
]
[model.sources]
parameters = "assumed: PyTorch's word_language_model at its defaults, 33,278 words x 200 twice, two layers of 200"
batch = "Gavel"
largest_tensor = "assumed: its embedding, 33,278 x 200 numbers"
start_up_s = "assumed: Tiresias' average restart"
overlap = "assumed: the embedding's gradient is the last to be ready"

[[model]]
name = "Transformer"
task = "translation, Multi30k; a sample is a sentence"
parameters = 65e6
batch = 64
optimiser = "adam"
largest_tensor = 0.29
start_up_s = 62
overlap = 0.37
speed = [
  {kind = "V100", samples_per_s = 552, source = "Gavel, simulation_throughputs.json, batch 64"},
  {kind = "P100", samples_per_s = 326, source = "Gavel, simulation_throughputs.json, batch 64"},
  {kind = "K80", samples_per_s = 112, source = "Gavel, simulation_throughputs.json, batch 64"},
]
[model.sources]
parameters = "assumed: the base model of Vaswani et al. 2017"
batch = "Gavel"
largest_tensor = "assumed: its embedding, 37,000 x 512 numbers in Vaswani et al. 2017"
start_up_s = "assumed: Tiresias' average restart"
overlap = "assumed: as ResNet-50"

[[model]]
name = "BERT-base"
task = "language model, fine-tuned on SQuAD"
parameters = 110e6
batch = 12
optimiser = "adam"
largest_tensor = 0.213
start_up_s = 120
overlap = 0.37
speed = [
  {kind = "T4", samples_per_s = 13, source = "Sia artifact, placements-aws.csv, batch 12"},
  {kind = "RTX 2080 Ti", samples_per_s = 26.9, source = "Sia artifact, placements-rtx.csv, batch 12"},
  {kind = "A100", samples_per_s = 67.4, source = "Sia artifact, placements-dgx-ext.csv, batch 11"},
]
[model.sources]
parameters = "Devlin et al. 2019"
batch = "Sia"
largest_tensor = "its embedding, 30,522 x 768 numbers"
start_up_s = "Sia, measured restart"
overlap = "median of the fits to Sia's six systems, which differ widely (trainyard models --fit)"

[[model]]
name = "BERT-large"
task = "language model"
aliases = ["BERT"]
parameters = 340e6
batch = 7
optimiser = "adam"
largest_tensor = 0.092
start_up_s = 120
overlap = 0.37
speed = [
  {kind = "V100", samples_per_s = 7.56, source = "NVIDIA DeepLearningExamples, BERT for TensorFlow 19.03, 32 GB, single precision"},
]
[model.sources]
parameters = "Devlin et al. 2019"
batch = "NVIDIA DeepLearningExamples"
largest_tensor = "its embedding, 30,522 x 1024 numbers"
start_up_s = "assumed: as BERT-base"
overlap = "assumed: as ResNet-50"

[[model]]
name = "GPT-2"
task = "language model; a sample is 1024 tokens"
aliases = ["GPT-2 small"]
parameters = 124e6
batch = 12
optimiser = "adam"
largest_tensor = 0.31
start_up_s = 62
overlap = 0.37
speed = [
  {kind = "A100", samples_per_s = 88.9, source = "assumed: nanoGPT reports 135 ms an iteration, taken as 12 sequences of 1024 tokens on an A100"},
  {kind = "H100", samples_per_s = 452, source = "llm.c: 10 billion tokens in 45 minutes on 8 of them, bfloat16"},
]
[model.sources]
parameters = "Radford et al. 2019, the published weights"
batch = "nanoGPT"
largest_tensor = "its embedding, 50,257 x 768 numbers"
start_up_s = "assumed: Tiresias' average restart"
overlap = "assumed: as ResNet-50"

[[model]]
name = "GPT-2 medium"
task = "language model; a sample is 1024 tokens"
parameters = 355e6
batch = 12
optimiser = "adam"
largest_tensor = 0.145
start_up_s = 62
overlap = 0.37
speed = [
  {kind = "A100", samples_per_s = 31, source = "assumed: GPT-2's by parameters"},
  {kind = "H100", samples_per_s = 158, source = "assumed: GPT-2's by parameters"},
]
[model.sources]
parameters = "Radford et al. 2019, the published weights"
batch = "assumed: as GPT-2"
largest_tensor = "its embedding, 50,257 x 1024 numbers"
start_up_s = "assumed: Tiresias' average restart"
overlap = "assumed: as ResNet-50"

[[model]]
name = "GPT-2 large"
task = "language model; a sample is 1024 tokens"
parameters = 774e6
batch = 12
optimiser = "adam"
largest_tensor = 0.083
start_up_s = 62
overlap = 0.37
speed = [
  {kind = "A100", samples_per_s = 14.3, source = "assumed: GPT-2's by parameters"},
  {kind = "H100", samples_per_s = 72.4, source = "assumed: GPT-2's by parameters"},
]
[model.sources]
parameters = "Radford et al. 2019, the published weights"
batch = "assumed: as GPT-2"
largest_tensor = "its embedding, 50,257 x 1280 numbers"
start_up_s = "assumed: Tiresias' average restart"
overlap = "assumed: as ResNet-50"

[[model]]
name = "NCF"
task = "recommendation, MovieLens"
aliases = ["Recommendation"]
parameters = 31.8e6
batch = 2048
optimiser = "adam"
largest_tensor = 0.557
start_up_s = 30
overlap = 0.0
curve = {limit = 0.7031, start = 0.1, to_95 = 0.178}
speed = [
  {kind = "T4", samples_per_s = 226670, source = "Sia artifact, placements-aws.csv, batch 2051"},
  {kind = "RTX 2080 Ti", samples_per_s = 136145, source = "Sia artifact, placements-rtx.csv, batch 2051"},
  {kind = "A100", samples_per_s = 203257, source = "Sia artifact, placements-dgx-ext.csv, batch 2051"},
]
[model.sources]
curve = "Sia artifact, ncf/validation-256.csv: its end, and when it first has 95% of that; begins at chance, one of ten"
parameters = "assumed: NeuMF on MovieLens 20M, 192 numbers for each of 138,493 users and 26,744 items"
batch = "Sia"
largest_tensor = "assumed: the larger table of its users, 138,493 x 128 numbers"
start_up_s = "assumed: as ResNet-18, a small model"
overlap = "median of the fits to Sia's six systems, which differ widely (trainyard models --fit)"
)toml";

}  // namespace trainyard
