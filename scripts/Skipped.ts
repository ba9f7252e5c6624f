/** Reasons why tests are skipped. */
import { relative } from "node:path"

/** By file, what its skipped tests lack. `scripts/skipped.test.ts` finds files that are missing here. */
export const reasons: Readonly<Record<string, string>> = {
  "packages/agent-host/test/protocol/RoundTrips.test.ts":
    "`CORRAL_TEST_AHP_FIXTURES` names no folder with stored messages of the protocol",
  "packages/agent-host/test/reducers/Fixtures.test.ts":
    "`CORRAL_TEST_AHP_FIXTURES` names no folder with test cases of the protocol",
  "packages/cli/test/failover/Cluster.failover.test.ts":
    "Patroni, etcd, HAProxy or curl is not installed, or this user cannot make namespaces of the network",
  "packages/cli/test/failover/EmptyMachines.failover.test.ts":
    "`mmdebstrap` is not installed, or this user cannot make namespaces of the network",
  "scripts/monitoring.test.ts": "promtool is not installed",
  "packages/cli/test/failover/RollingUpgrade.failover.test.ts":
    "`CORRAL_PREVIOUS_DIST` names no build of the previous release",
  "packages/cli/test/e2e/Chat.test.ts": "`script` is not installed",
  "packages/cli/test/e2e/Completions.test.ts": "the shell is not installed",
  "packages/cli/test/e2e/Doctor.test.ts": "the system has no /proc",
  "packages/cli/test/e2e/HostileEditor.test.ts": "memory is read as on Linux",
  "packages/cli/test/runtimes/Acpx.runtimes.test.ts": "the program is not in the registry",
  "packages/cli/test/joined/SealedAnswers.test.ts": "the system has no /proc",
  "packages/cli/test/e2e/EdgeChat.test.ts": "`script` is not installed",
  "packages/cli/test/e2e/FirstTerminal.test.ts": "`script` is not installed",
  "packages/cli/test/e2e/ChatQuestions.test.ts": "`script` is not installed",
  "packages/cli/test/e2e/Questions.test.ts": "`script` is not installed",
  "packages/cli/test/e2e/FirstRun.test.ts":
    "no Node before 22, or no `script`, is installed, or this user cannot make control groups",
  "packages/console/test/e2e/ConfinedNetwork.test.ts":
    "no Chromium for this system, or bubblewrap, socat or curl is not installed",
  "packages/console/test/e2e/Compare.test.ts": "no Chromium for this system",
  "packages/console/test/e2e/JoinedCandidates.test.ts": "no Chromium for this system",
  "packages/edge/test/confinement/EdgePrograms.test.ts": "bubblewrap is not installed, or does not work here",
  "packages/edge/test/contract/Candidates.test.ts": "bubblewrap is not installed, or does not work here",
  "packages/edge/test/contract/Checks.test.ts": "bubblewrap is not installed, or does not work here",
  "packages/edge/test/contract/Review.test.ts": "bubblewrap is not installed, or does not work here",
  "packages/edge/test/layer/GroupBases.test.ts":
    "bubblewrap is not installed, or does not work here, or this user cannot mount a folder in memory",
  "packages/edge/test/runtimes/AgentHost.runtimes.test.ts":
    "the program is not in the registry, or no Chromium for this system",
  "packages/edge/test/runtimes/Candidates.runtimes.test.ts": "the program is not in the registry",
  "packages/edge/test/runtimes/Usage.runtimes.test.ts":
    "the program is not in the registry, or does not continue conversations",
  "packages/console/test/e2e/Console.test.ts": "no Chromium for this system",
  "packages/console/test/e2e/Changes.test.ts": "no Chromium for this system",
  "packages/console/test/e2e/JoinedChanges.test.ts": "no Chromium for this system",
  "packages/console/test/e2e/SessionAgents.test.ts": "no Chromium for this system",
  "packages/console/test/e2e/DesktopPage.test.ts": "no Chromium for this system",
  "packages/console/test/e2e/Finding.test.ts": "no Chromium for this system",
  "packages/console/test/e2e/Answers.test.ts": "no Chromium for this system",
  "packages/console/test/e2e/Questions.test.ts": "no Chromium for this system",
  "packages/console/test/e2e/FirstRun.soak.test.ts": "no Chromium for this system",
  "packages/console/test/e2e/Keys.test.ts": "no Chromium for this system",
  "packages/console/test/e2e/KeptFocus.test.ts": "no Chromium for this system",
  "packages/console/test/e2e/LongTurn.test.ts": "no Chromium for this system",
  "packages/console/test/e2e/Touch.test.ts": "no Chromium for this system",
  "packages/console/test/e2e/Outage.test.ts": "no Chromium for this system",
  "packages/console/test/e2e/Pause.test.ts":
    "no Chromium for this system, or this user cannot make control groups",
  "packages/console/test/e2e/Routes.test.ts": "no Chromium for this system",
  "packages/console/test/e2e/Access.test.ts": "no Chromium for this system",
  "packages/console/test/e2e/Bidi.test.ts": "no Chromium for this system",
  "packages/console/test/e2e/Review.soak.test.ts": "no Chromium for this system",
  "packages/console/test/e2e/Run.test.ts": "no Chromium for this system",
  "packages/console/test/e2e/Sentences.test.ts": "no Chromium for this system",
  "packages/console/test/e2e/Settings.test.ts": "no Chromium for this system",
  "packages/console/test/e2e/Start.test.ts": "no Chromium for this system",
  "packages/console/test/e2e/Preferences.test.ts": "no Chromium for this system",
  "packages/console/test/e2e/Presets.test.ts": "no Chromium for this system",
  "packages/console/test/e2e/Composer.test.ts": "no Chromium for this system",
  "packages/console/test/e2e/Review.test.ts": "no Chromium for this system",
  "packages/console/test/e2e/Thread.test.ts": "no Chromium for this system",
  "packages/console/test/e2e/WholeRequest.test.ts": "no Chromium for this system",
  "packages/console/test/e2e/Usage.test.ts": "no Chromium for this system",
  "packages/console/test/e2e/Gallery.test.ts": "no Chromium for this system",
  "packages/console/test/smoke/Run.test.ts": "no Chromium for this system",
  "packages/console/test/e2e/Sidebar.soak.test.ts": "no Chromium for this system",
  "packages/console/test/e2e/Timeline.soak.test.ts": "no Chromium for this system",
  "packages/console/test/pictures/Pictures.test.ts":
    "no Chromium for this system, or pictures for the documentation were not asked for",
  "packages/edge/test/workspace/SmallFile.test.ts": "the system has no /proc",
  "packages/edge/test/approval/ShellDifferences.property.test.ts": "the shell is not installed",
  "packages/edge/test/approval/ShellDifferences.soak.test.ts": "the shell or strace is not installed",
  "packages/edge/test/change/SmallDisk.test.ts": "this user cannot mount a folder in memory",
  "packages/edge/test/confinement/RepositoryFiles.property.test.ts": "strace is not installed",
  "packages/edge/test/confinement/RepositoryFiles.soak.test.ts": "strace is not installed",
  "packages/edge/test/confinement/BubblewrapProbe.test.ts": "bubblewrap exists on Linux only",
  "packages/edge/test/confinement/Landlock.test.ts":
    "setpriv does not support Landlock: it is older than 2.40, or the kernel is older than 6.2",
  "packages/edge/test/e2e/LandlockRuns.test.ts":
    "setpriv does not support Landlock: it is older than 2.40, or the kernel is older than 6.2",
  "packages/cli/test/e2e/DefaultConfinement.test.ts":
    "bubblewrap or socat is not installed, or does not work here",
  "packages/cli/test/e2e/DoctorProbe.test.ts": "bubblewrap or socat is not installed, or does not work here",
  "packages/edge/test/confinement/EscapeProbe.test.ts":
    "bubblewrap or socat is not installed, or does not work here",
  "packages/edge/test/confinement/ConfinedSignals.test.ts":
    "bubblewrap is not installed, or does not work here",
  "packages/edge/test/confinement/HostilePrograms.soak.test.ts":
    "bubblewrap is not installed or does not work here, or this user is not root or cannot make control groups",
  "packages/edge/test/confinement/ConfinedState.test.ts":
    "bubblewrap is not installed, or does not work here",
  "packages/edge/test/confinement/ForeignObjects.soak.test.ts":
    "bubblewrap is not installed, or does not work here",
  "packages/edge/test/confinement/ForeignObjects.test.ts":
    "bubblewrap is not installed, or does not work here",
  "packages/edge/test/confinement/ConfinedState.soak.test.ts":
    "bubblewrap is not installed, or does not work here",
  "packages/edge/test/confinement/HostileKeys.test.ts": "bubblewrap is not installed, or does not work here",
  "packages/edge/test/confinement/HostileLayers.test.ts":
    "bubblewrap is not installed, or does not work here",
  "packages/edge/test/contract/Layers.test.ts": "bubblewrap is not installed, or does not work here",
  "packages/edge/test/e2e/LayerCrash.test.ts": "bubblewrap is not installed, or does not work here",
  "packages/edge/test/e2e/Layers.soak.test.ts": "bubblewrap is not installed, or does not work here",
  "packages/edge/test/layer/LayerMerge.test.ts": "this user cannot mount a folder in memory",
  "packages/edge/test/layer/LayerSource.test.ts": "bubblewrap is not installed, or does not work here",
  "packages/edge/test/layer/Layers.test.ts": "bubblewrap is not installed, or does not work here",
  "packages/edge/test/confinement/HostilePrograms.test.ts":
    "bubblewrap is not installed, or does not work here",
  "packages/edge/test/confinement/ConfiguredFiles.test.ts":
    "bubblewrap is not installed, or does not work here",
  "packages/edge/test/workspace/HostileRepository.soak.test.ts":
    "bubblewrap is not installed, or does not work here",
  "packages/edge/test/workspace/HostileRepository.test.ts":
    "bubblewrap is not installed, or does not work here",
  "packages/edge/test/process/MarkSweep.test.ts": "this user cannot open a process namespace",
  "packages/edge/test/holder/HeldOutput.test.ts": "this user cannot mount a folder in memory",
  "packages/edge/test/holder/HeldProcess.test.ts": "this user cannot make control groups",
  "packages/edge/test/confinement/NetworkBridge.test.ts": "the system has no /proc",
  "packages/edge/test/contract/ConfinedPreviews.test.ts":
    "bubblewrap, socat or Python is not installed, or bubblewrap does not work here",
  "packages/edge/test/e2e/ConfinedCaches.test.ts":
    "bubblewrap or socat is not installed, or does not work here",
  "packages/edge/test/e2e/ConfinedArtifacts.test.ts": "bubblewrap is not installed, or does not work here",
  "packages/edge/test/e2e/StateSurvival.test.ts": "bubblewrap is not installed, or does not work here",
  "packages/edge/test/e2e/ConfinedSurvival.test.ts": "bubblewrap is not installed, or does not work here",
  "packages/edge/test/e2e/ConfinedProjects.test.ts":
    "bubblewrap, socat, Python, pytest, Go or Rust is not installed, or bubblewrap does not work here",
  "packages/edge/test/e2e/ConfinedRunners.test.ts": "bubblewrap is not installed, or does not work here",
  "packages/edge/test/e2e/Confinement.soak.test.ts": "bubblewrap is not installed, or does not work here",
  "packages/edge/test/e2e/ConfinedGrant.test.ts": "bubblewrap is not installed, or does not work here",
  "packages/edge/test/e2e/ConfinedNetwork.test.ts":
    "bubblewrap or socat is not installed, or does not work here",
  "packages/edge/test/e2e/Confinement.test.ts": "bubblewrap is not installed, or does not work here",
  "packages/edge/test/e2e/Survival.test.ts": "this user cannot make control groups",
  "packages/edge/test/e2e/Containment.test.ts": "this user cannot make control groups",
  "packages/edge/test/e2e/FullDisk.test.ts": "an ordinary user cannot mount a small file system",
  "packages/edge/test/e2e/Memory.soak.test.ts": "memory is read as on Linux",
  "packages/edge/test/e2e/ProtectedEdits.test.ts": "bubblewrap is not installed, or does not work here",
  "packages/edge/test/e2e/ProtectedNames.test.ts": "bubblewrap is not installed, or does not work here",
  "packages/edge/test/process/AbandonedGroups.test.ts": "this user cannot make control groups",
  "packages/edge/test/process/Containment.test.ts": "this user cannot make control groups",
  "packages/edge/test/process/ControlGroup.test.ts": "this user cannot make control groups",
  "packages/edge/test/contract/HubLink.test.ts": "this user cannot make control groups",
  "packages/edge/test/contract/Pause.test.ts": "this user cannot make control groups",
  "packages/edge/test/holder/PreparedGroup.test.ts": "this user cannot make control groups",
  "packages/edge/test/process/Freezer.test.ts": "this user cannot make control groups",
  "packages/edge/test/process/Launcher.test.ts": "this user cannot make control groups",
  "packages/edge/test/process/GroupRecord.test.ts": "this user cannot make control groups",
  "packages/edge/test/process/Subprocess.test.ts": "this user cannot make control groups",
  "packages/edge/test/runtimes/Attachments.runtimes.test.ts": "the program is not in the registry",
  "packages/edge/test/runtimes/ConfinedNetwork.runtimes.test.ts":
    "the program is not in the registry, or bubblewrap is missing",
  "packages/edge/test/runtimes/ConfinedTools.runtimes.test.ts":
    "the program is not in the registry, or bubblewrap is missing",
  "packages/edge/test/runtimes/Hostile.runtimes.test.ts":
    "the program is not in the registry, or needs no grant",
  "packages/edge/test/runtimes/Work.runtimes.test.ts":
    "the program is not in the registry, or does not play a prompt alone",
  "packages/edge/test/runtimes/Inputs.runtimes.test.ts":
    "the program is not in the registry, does not report its steps, or does not only read",
  "packages/edge/test/runtimes/Conversations.runtimes.test.ts": "the program is not in the registry",
  "packages/edge/test/runtimes/ConfinedServers.runtimes.test.ts":
    "the program is not in the registry, or bubblewrap is not installed",
  "packages/edge/test/runtimes/PlantedState.runtimes.test.ts":
    "the program is not in the registry, or bubblewrap is not installed",
  "packages/edge/test/runtimes/LayerTurns.runtimes.test.ts":
    "the program is not in the registry, or bubblewrap is missing",
  "packages/edge/test/runtimes/Keys.runtimes.test.ts":
    "the program is not in the registry, or bubblewrap is missing",
  "packages/edge/test/runtimes/Runtimes.runtimes.test.ts": "the program is not in the registry",
  "packages/edge/test/runtimes/SignInRefresh.runtimes.test.ts":
    "the program is not in the registry, or bubblewrap is not installed",
  "packages/edge/test/runtimes/Survival.runtimes.test.ts":
    "the program is not in the registry, does not run as root, or never asks",
  "packages/hub/test/contract/Console.test.ts": "the console was not built",
  "packages/hub/test/config/ClientKey.test.ts": "openssl is not installed",
  "packages/hub/test/signin/ProviderFetch.test.ts": "openssl is not installed",
  "packages/service/test/MakeFolder.test.ts": "the system has no /proc",
  "packages/service/test/http/ServiceServer.test.ts": "the system holds fewer waiting connections",
  "packages/service/test/runService.test.ts": "`script` is not installed",
  "scripts/deploy.test.ts": "systemd-analyze is not installed",
  "scripts/openapi/OpenApi.packages.test.ts": "npm could not install the tools",
  "scripts/pack/command.packages.test.ts": "no Node before 22 is installed",
  "scripts/pack/oldNode.packages.test.ts": "no Node before 22 is installed",
  "scripts/pack/tools.packages.test.ts": "npm could not install the tools",
  "scripts/proxies.test.ts": "nginx or Caddy is not installed"
}

export interface TestFile {
  /** Absolute path of the file. */
  readonly name: string
  readonly assertionResults: ReadonlyArray<{ readonly status: string }>
}

/** One line for each file with skipped tests. */
export const skipped = (files: ReadonlyArray<TestFile>, root: string): ReadonlyArray<string> =>
  files.flatMap(({ assertionResults, name }) => {
    const tests = assertionResults.filter(({ status }) => status === "pending" || status === "skipped")
    const file = relative(root, name)
    return tests.length === 0
      ? []
      : [`  ${tests.length} in ${file}: ${reasons[file] ?? "no reason is known"}`]
  })
