/**
 * OpenCode, one prompt a process (`one-shot/OpenCodeLines`). It runs in `full_access` alone: its plan agent still runs commands, and what a
 * configuration forbids, the workspace's own configuration may allow again.
 */
import type { RuntimeAdapter } from "@corral/domain/run/RuntimeAdapter"
import { modelServices, proxies } from "./one-shot/Environment.ts"
import type { ProgramInfo } from "./one-shot/Failure.ts"
import { toArgument, oneShotCapabilities, OneShotProtocol } from "./one-shot/OneShot.ts"
import { openCodeProject } from "./ProjectFiles.ts"
import { OpenCodeLines } from "./one-shot/OpenCodeLines.ts"

const signIn = "Run `opencode auth login` on this machine, or set the key of your model service for the Edge."
const words: ProgramInfo = { label: "OpenCode", signIn }

const run = "run --format json --thinking --auto".split(" ")

/**
 * No formatter or language server: OpenCode finds both in the project's `node_modules`. The rest of a project's settings cannot be left out;
 * the Edge does not start OpenCode where there are some.
 */
export const withoutTools = {
  OPENCODE_CONFIG_CONTENT: JSON.stringify({ formatter: false, lsp: false })
}

/** OpenCode, found as `opencode` on PATH. */
export const openCode: RuntimeAdapter = {
  specificationVersion: 1,
  id: "opencode",
  label: words.label,
  capabilities: oneShotCapabilities({ deltas: false, resume: true }),
  probe: {
    command: "opencode",
    versionArgs: ["--version"],
    install: "Install OpenCode: npm install -g opencode-ai",
    signIn
  },
  passEnv: ["OPENCODE_*", ...modelServices, ...proxies],
  projectSettings: openCodeProject,
  command: ({ prompt, model, projectSettings, resumeSessionId }) => ({
    file: "opencode",
    args: [
      ...run,
      ...(model === undefined ? [] : ["--model", model]),
      ...(resumeSessionId === undefined ? [] : ["--session", resumeSessionId]),
      toArgument(prompt)
    ],
    env: { OPENCODE_DISABLE_AUTOUPDATE: "1", ...(projectSettings === "enabled" ? {} : withoutTools) },
    stdin: "ignore"
  }),
  protocol: (start) => new OneShotProtocol(words, (collector) => new OpenCodeLines(words, collector, start))
}
