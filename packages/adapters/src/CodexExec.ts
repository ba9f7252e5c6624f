/**
 * Codex without its app-server: `codex exec`, one prompt per process. For versions with an incompatible app-server.
 *
 * It does not request permissions, so the Edge runs it in the modes that its sandbox or the Edge enforces, and in `full_access`.
 */
import type { RuntimeAdapter } from "@corral/domain/run/RuntimeAdapter"
import { codexContinuation, codexProbe, trustFlags } from "./Codex.ts"
import { codexNetwork } from "./ModelHosts.ts"
import { codexProject } from "./ProjectFiles.ts"
import { codexFolders } from "./StateFolders.ts"
import { codexEnvironment } from "./codex/CodexFailure.ts"
import { ExecProtocol } from "./codex/Exec.ts"
import { sandboxOf } from "./codex/Modes.ts"

/** Sub-agents and goals end with the turn of this command, and nothing reports them: a run would complete without their work. */
const oneTurn = ["-c", "features.multi_agent=false", "-c", "features.goals=false"]

/** Codex, found as `codex` on PATH, one process per run. */
export const codexExec: RuntimeAdapter = {
  specificationVersion: 1,
  id: "codex-exec",
  label: "Codex (exec)",
  capabilities: {
    deltas: false,
    approvals: false,
    editInput: false,
    resume: true,
    readOnly: true,
    cancel: false,
    input: false
  },
  continuation: codexContinuation,
  images: "native",
  probe: codexProbe,
  passEnv: codexEnvironment,
  projectSettings: codexProject,
  folders: codexFolders,
  network: codexNetwork,
  command: (start) => ({
    file: "codex",
    args: [
      ...trustFlags(start),
      ...oneTurn,
      "exec",
      "--json",
      "--sandbox",
      sandboxOf(start.mode, start.isConfined),
      // A configured workspace is trusted.
      "--skip-git-repo-check",
      ...(start.model === undefined ? [] : ["--model", start.model]),
      ...(start.resumeSessionId === undefined ? [] : ["resume", start.resumeSessionId]),
      ...(start.images ?? []).flatMap(({ path }) => ["--image", path]),
      // The prompt comes on stdin: every user of the machine can read arguments.
      "-"
    ],
    stdin: "once"
  }),
  protocol: (start) => new ExecProtocol(start)
}
