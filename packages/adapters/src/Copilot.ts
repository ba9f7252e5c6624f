/**
 * Copilot CLI, one prompt a process (`one-shot/CopilotLines`). It cannot ask here, so it runs in `full_access`, or with writing and the shell
 * denied, which stands above whatever else allows them; without anybody to ask, everything else that needs a permission is denied too.
 */
import type { RuntimeAdapter } from "@corral/domain/run/RuntimeAdapter"
import { copilotProject } from "./ProjectFiles.ts"
import { CopilotLines } from "./one-shot/CopilotLines.ts"
import { proxies } from "./one-shot/Environment.ts"
import type { ProgramInfo } from "./one-shot/Failure.ts"
import { toArgument, oneShotCapabilities, OneShotProtocol } from "./one-shot/OneShot.ts"

const signIn = "Run `copilot` on this machine and use /login, or set GH_TOKEN for the Edge."
const words: ProgramInfo = { label: "Copilot CLI", signIn }

const printed = "--output-format json --stream on --no-auto-update".split(" ")
const locked = ["--deny-tool=write", "--deny-tool=shell"]

/** Copilot CLI, found as `copilot` on PATH. */
export const copilot: RuntimeAdapter = {
  specificationVersion: 1,
  id: "copilot",
  label: words.label,
  capabilities: oneShotCapabilities({ readOnly: true }),
  probe: {
    command: "copilot",
    versionArgs: ["--version"],
    install: "Install Copilot CLI: npm install -g @github/copilot",
    signIn
  },
  passEnv: ["COPILOT_*", "GH_TOKEN", "GITHUB_TOKEN", ...proxies],
  projectSettings: copilotProject,
  command: ({ prompt, mode, model, projectSettings }) => ({
    file: "copilot",
    args: [
      "-p",
      toArgument(prompt),
      ...printed,
      ...(mode === "full_access" ? ["--allow-all-tools", "--allow-all-paths"] : locked),
      ...(mode === "plan" ? ["--plan"] : []),
      ...(model === undefined ? [] : ["--model", model]),
      ...(projectSettings === "enabled" ? ["--trust-folder"] : [])
    ],
    env: {
      // A program that replaces itself under a run is not the one that was probed.
      COPILOT_AUTO_UPDATE: "false",
      // The word `true` would trust the folder besides.
      COPILOT_ALLOW_ALL: "false"
    },
    stdin: "ignore"
  }),
  protocol: (start) => new OneShotProtocol(words, (collector) => new CopilotLines(words, collector, start))
}
