/**
 * Copilot CLI, one prompt per process (`one-shot/CopilotLines`). It cannot request permissions in this way, so it runs in `full_access`, or
 * with writing and the shell denied. These denials override every permission, and all other permission requests fail too.
 */
import type { RuntimeAdapter } from "@corral/domain/run/RuntimeAdapter"
import { copilotNetwork } from "./ModelHosts.ts"
import { copilotProject } from "./ProjectFiles.ts"
import { copilotFolders } from "./StateFolders.ts"
import { CopilotLines } from "./one-shot/CopilotLines.ts"
import { proxies } from "./one-shot/Environment.ts"
import type { ProgramInfo } from "./one-shot/Failure.ts"
import { mayChange, toArgument, oneShotCapabilities, OneShotProtocol } from "./one-shot/OneShot.ts"

const signIn = "Run `copilot` on this machine and use /login, or set GH_TOKEN for the Edge."
const program: ProgramInfo = { label: "Copilot CLI", signIn }

/** No one can answer a question of a program that reads one prompt. */
const outputFlags = "--output-format json --stream on --no-auto-update --no-ask-user".split(" ")
const readOnlyFlags = ["--deny-tool=write", "--deny-tool=shell"]

/** Copilot CLI, found as `copilot` on PATH. */
export const copilot: RuntimeAdapter = {
  specificationVersion: 1,
  id: "copilot",
  label: program.label,
  capabilities: oneShotCapabilities({ readOnly: true }),
  counts: ["turns"],
  probe: {
    command: "copilot",
    versionArgs: ["--version"],
    install: "Install Copilot CLI: npm install -g @github/copilot",
    signIn
  },
  passEnv: ["COPILOT_*", "GH_TOKEN", "GITHUB_TOKEN", ...proxies],
  projectSettings: copilotProject,
  folders: copilotFolders,
  network: copilotNetwork,
  command: ({ isConfined, prompt, mode, model, projectSettings }) => ({
    file: "copilot",
    args: [
      "-p",
      toArgument(prompt),
      ...outputFlags,
      ...(mayChange({ isConfined, mode }) ? ["--allow-all-tools", "--allow-all-paths"] : readOnlyFlags),
      ...(mode === "plan" ? ["--plan"] : []),
      ...(model === undefined ? [] : ["--model", model]),
      ...(projectSettings === "enabled" ? ["--trust-folder"] : [])
    ],
    env: {
      // A program that updates itself during a run is not the probed one.
      COPILOT_AUTO_UPDATE: "false",
      // The value `true` would also trust the folder.
      COPILOT_ALLOW_ALL: "false"
    },
    stdin: "ignore"
  }),
  protocol: (start) =>
    new OneShotProtocol(program, (collector) => new CopilotLines(program, collector, start))
}
