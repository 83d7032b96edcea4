// The plan as a manifest for kubectl apply: a volume for the model, a Service, and a Deployment, or for several nodes a
// LeaderWorkerSet (leaderworkerset.sigs.k8s.io). YAML's plain style has many special characters, so every text from
// outside is a JSON string.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "kvplan/error.h"
#include "kvplan/launch.h"
#include "kvplan/strings.h"
#include "report/report.h"
#include "report/words.h"

namespace kvplan {

constexpr std::string_view kModels = "/models";  // where the volume is mounted
constexpr std::string_view kLeaderAddress = "$(LWS_LEADER_ADDRESS)", kIndex = "$(LWS_WORKER_INDEX)";

using Words = std::vector<std::string>;

static std::string indented(std::string_view text, std::size_t spaces) {
  std::string out;
  for (const std::string_view line : split(text, '\n'))
    if (!line.empty()) out += fmt::format("{:{}}{}\n", "", spaces, line);
  return out;
}

// A name of Kubernetes: small letters, digits and dashes.
static std::string object_name(const Plan& plan) {
  constexpr std::size_t kMost = 50;  // a Pod's name has at most 63 characters, including what is appended
  std::string out;
  for (const char c : std::string(plan.launch->engine) + "-" + plan.model->name) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (is_plain)
      out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    else if (!out.empty() && out.back() != '-')
      out += '-';
  }
  out.resize(std::min(out.size(), kMost));
  while (!out.empty() && out.back() == '-') out.pop_back();
  return out;
}

// A word in which Kubernetes expands nothing.
static std::string literal(std::string_view word) {
  std::string out;
  for (const char c : word) out += c == '$' ? "$$" : std::string(1, c);
  return out;
}

// The words of a command in the container. `others`: the words of all nodes that share this template.
static Words container_words(const Launch& launch, const Words& words, const std::vector<Words>& others) {
  Words out;
  bool needs_shell = false;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const bool is_shared = std::all_of(others.begin(), others.end(), [&](const Words& each) {
      return each.size() == words.size() && each[i] == word;
    });
    if (!is_shared) {
      // The first worker has index 1. The others' numbers are multiples of its number.
      const std::uint64_t step = whole_number(word).value_or(0);
      for (std::size_t at = 0; at < others.size(); ++at)
        if (others[at].size() != words.size() || others[at][i] != std::to_string(step * (at + 1)))
          usage_error(
              "--format k8s: the nodes of this layout need different commands, and one template cannot express them",
              "use --format args");
      needs_shell = needs_shell || step != 1;
      out.push_back(step == 1 ? std::string(kIndex) : fmt::format("$$(( {} * {} ))", kIndex, step));
    } else if (launch.commands.size() > 1 && (word == kFirstNode || word.starts_with(std::string(kFirstNode) + ":"))) {
      out.push_back(std::string(kLeaderAddress) + word.substr(kFirstNode.size()));
    } else if (!launch.local_model.empty() && word == launch.local_model) {
      out.push_back(literal(std::string(kModels) + "/" + word.substr(word.rfind('/') + 1)));
    } else {
      out.push_back(literal(i == 0 && !launch.container.program.empty() ? launch.container.program : word));
    }
  }
  if (!needs_shell) return out;
  const auto quoted = [](const std::string& word) { return word.starts_with("$$((") ? word : shell_word(word); };
  return {"sh", "-c", "exec " + join(out, " ", quoted)};
}

static std::string probe(std::string_view kind, const ServerImage& container, std::uint64_t failures) {
  return fmt::format("{}:\n  httpGet:\n    path: {}\n    port: {}\n  periodSeconds: 10\n  failureThreshold: {}\n", kind,
                     container.health, container.port, failures);
}

static std::string environment_of(const Launch& launch) {
  std::string out = "env:\n";
  if (launch.container.takes_token)
    out +=
        "  - name: HF_TOKEN\n    valueFrom:\n      secretKeyRef:\n        name: hf-token\n        key: token\n"
        "        optional: true\n";
  out += fmt::format("  - name: {}\n    value: {}\n", launch.container.store, kModels);
  for (const auto& [variable, value] : launch.environment)
    out += fmt::format("  - name: {}\n    value: {}\n", variable, json_string(literal(value)));
  return out;
}

// The part that a Deployment and the templates of a LeaderWorkerSet share. `serves`: this Pod receives the requests.
static std::string pod(const Launch& launch, const std::string& name, const Words& words, bool serves) {
  constexpr std::uint64_t kLoading = 360, kReady = 3,
                          kAlive = 6;  // an hour to load the model, a minute without an answer
  const ServerImage& container = launch.container;
  std::string out = fmt::format("image: {}\ncommand:\n", json_string(container.image));
  for (const std::string& word : words) out += fmt::format("  - {}\n", json_string(word));
  out += environment_of(launch);
  if (serves)
    out += fmt::format("ports:\n  - name: http\n    containerPort: {}\n", container.port) +
           probe("startupProbe", container, kLoading) + probe("readinessProbe", container, kReady) +
           probe("livenessProbe", container, kAlive);
  out += fmt::format("resources:\n  limits:\n    nvidia.com/gpu: {}\n", launch.gpus_per_node);
  out += fmt::format("volumeMounts:\n  - name: models\n    mountPath: {}\n  - name: shm\n    mountPath: /dev/shm\n",
                     kModels);
  // NCCL and the engine's processes exchange data through shared memory, of which a container has 64 MiB by default.
  const std::string_view shared = launch.gpus_per_node > 1 || launch.commands.size() > 1 ? "16Gi" : "2Gi";
  // Kubernetes makes environment variables from the names of Services. The engine would take one like VLLM_... for its
  // own.
  return "enableServiceLinks: false\ncontainers:\n  - name: server\n" + indented(out, 4) +
         fmt::format(
             "volumes:\n  - name: models\n    persistentVolumeClaim:\n      claimName: {}-models\n"
             "  - name: shm\n    emptyDir:\n      medium: Memory\n      sizeLimit: {}\n",
             name, shared);
}

// The comments at the top: what must exist, and what can be changed.
static std::string remarks(const Plan& plan, const std::string& name, bool is_set) {
  const Launch& launch = *plan.launch;
  std::string out = fmt::format("# Planned for {} {}. Replace \"latest\" with the tag of your release.\n",
                                launch.engine, plan.engine_version);
  out += "# For a gated model: kubectl create secret generic hf-token --from-literal=token=YOUR_TOKEN\n";
  if (!launch.local_model.empty())
    out += fmt::format("# Copy the model to {} in the volume {}-models, which is mounted at {}.\n",
                       json_string(launch.local_model.substr(launch.local_model.rfind('/') + 1)), name, kModels);
  if (is_set) out += "# Needs LeaderWorkerSet (https://lws.sigs.k8s.io) and a storage class with ReadWriteMany.\n";
  return out;
}

// Space for the checkpoint, in 16 bits if the engine quantizes it while loading. Copies load the same files.
static std::uint64_t volume_gib(const Plan& plan) {
  constexpr std::uint64_t kStep = 10, kSpare = 5;
  Bytes weights;
  for (const GpuMemory& gpu : plan.memory) weights += gpu.weights.value_or(Bytes(0));
  const std::uint64_t in_16_bits = 2 * plan.model->parameters.total;
  const std::uint64_t bytes = plan.request.weights ? in_16_bits : std::min(weights.count(), in_16_bits);
  return std::max(kStep, kStep * ceil_div(bytes + bytes / kSpare, kStep * kGiB));
}

std::string launch_k8s(const Plan& plan) {
  Launch launch = *plan.launch;
  if (launch.container.image.empty())
    usage_error("--format k8s: " + std::string(launch.engine) + " has no container from its makers",
                "use --format args");
  if (plan.request.card.gpu != nullptr && plan.request.card.gpu->vendor != "NVIDIA")
    usage_error("--format k8s: the container is built for NVIDIA GPUs", "use --format args");
  const bool is_set = launch.commands.size() > 1;
  Words& leader = launch.commands.front();
  if (!launch.container.listens) leader.insert(leader.end(), {"--host", "0.0.0.0"});
  const std::string name = object_name(plan);
  const std::string labels = fmt::format("app: {}\n", name) + (is_set ? "role: leader\n" : "");
  const auto pod_template = [&](const Words& words, const std::vector<Words>& others, bool serves) {
    return "metadata:\n  labels:\n" + indented(serves ? labels : fmt::format("app: {}\n", name), 4) + "spec:\n" +
           indented(pod(launch, name, container_words(launch, words, others), serves), 2);
  };
  std::string out = remarks(plan, name, is_set);
  out += fmt::format(
      "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata:\n  name: {}-models\nspec:\n  accessModes:\n    - {}\n"
      "  resources:\n    requests:\n      storage: {}Gi\n---\n",
      name, is_set ? "ReadWriteMany" : "ReadWriteOnce", volume_gib(plan));
  out += fmt::format(
      "apiVersion: v1\nkind: Service\nmetadata:\n  name: {}{}\nspec:\n  selector:\n{}  ports:\n    - name: http\n"
      "      port: {}\n      targetPort: http\n---\n",
      name, is_set ? "-leader" : "", indented(labels, 4),
      launch.container.port);  // the LeaderWorkerSet creates a Service of this name
  if (!is_set)
    return out + fmt::format(
                     "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: {}\nspec:\n  replicas: 1\n"
                     "  strategy:\n    type: Recreate\n  selector:\n    matchLabels:\n{}  template:\n{}",
                     name, indented(labels, 6), indented(pod_template(leader, {}, true), 4));
  const std::vector<Words> workers(launch.commands.begin() + 1, launch.commands.end());
  return out +
         fmt::format(
             "apiVersion: leaderworkerset.x-k8s.io/v1\nkind: LeaderWorkerSet\nmetadata:\n  name: {}\nspec:\n"
             "  replicas: 1\n  leaderWorkerTemplate:\n    size: {}\n    restartPolicy: RecreateGroupOnPodRestart\n"
             "    leaderTemplate:\n{}    workerTemplate:\n{}",
             name, launch.commands.size(), indented(pod_template(leader, {}, true), 6),
             indented(pod_template(workers.front(), workers, false), 6));
}

// The plan as text to paste: the engine's own command line.
std::string launch_args(const Plan& plan) {
  const auto setting = [](const auto& variable) { return variable.first + "=" + shell_word(variable.second) + " "; };
  const std::string before = join(plan.launch->environment, "", setting);
  const auto line = [&](const std::vector<std::string>& words) { return before + join(words, " ", shell_word) + "\n"; };
  return join(plan.launch->commands, "", line);
}

std::string launch_warning(const Plan& plan) {
  std::vector<std::string> out;
  if (plan.verdict.fails())
    out.push_back((plan.verdict.no_verdict.empty() ? "does not fit: " : "unknown: ") + reason_of(plan.verdict));
  if (plan.launch) out.insert(out.end(), plan.launch->remarks.begin(), plan.launch->remarks.end());
  return join(out, "; ");
}

}  // namespace kvplan
