/**
 * OpenCode, one prompt per process (`one-shot/OpenCodeLines`). It runs in `full_access` only: its plan agent runs commands, and the
 * workspace's configuration can allow what the user's forbids.
 */
import type { Continuation } from "@corral/domain/run/Continuation"
import type { RuntimeAdapter } from "@corral/domain/run/RuntimeAdapter"
import { modelServices, proxies } from "./one-shot/Environment.ts"
import type { ProgramInfo } from "./one-shot/Failure.ts"
import { toArgument, oneShotCapabilities, OneShotProtocol } from "./one-shot/OneShot.ts"
import { openCodeNetwork } from "./ModelHosts.ts"
import { openCodeProject } from "./ProjectFiles.ts"
import { openCodeFolders } from "./StateFolders.ts"
import { OpenCodeLines } from "./one-shot/OpenCodeLines.ts"

const signIn = "Run `opencode auth login` on this machine, or set the key of your model service for the Edge."
const program: ProgramInfo = { label: "OpenCode", signIn }

const run = "run --format json --thinking --auto".split(" ")

/**
 * Configuration without formatters and language servers, which OpenCode finds in the project's `node_modules`. Other project settings cannot
 * be disabled, so the Edge does not start OpenCode in a project that has some.
 */
export const withoutTools = {
  OPENCODE_CONFIG_CONTENT: JSON.stringify({ formatter: false, lsp: false })
}

/** Conversations are in one database, for both ways to drive OpenCode. */
export const openCodeContinuation: Continuation = {
  store: "~/.local/share/opencode",
  model: "any",
  mode: "any",
  folder: "any"
}

/** OpenCode, found as `opencode` on PATH. */
export const openCode: RuntimeAdapter = {
  specificationVersion: 1,
  id: "opencode",
  label: program.label,
  capabilities: oneShotCapabilities({ deltas: false, resume: true }),
  continuation: openCodeContinuation,
  images: "native",
  probe: {
    command: "opencode",
    versionArgs: ["--version"],
    install: "Install OpenCode: npm install -g opencode-ai",
    signIn
  },
  passEnv: ["OPENCODE_*", ...modelServices, ...proxies],
  projectSettings: openCodeProject,
  folders: openCodeFolders,
  network: openCodeNetwork,
  command: ({ images = [], prompt, model, projectSettings, resumeSessionId }) => ({
    file: "opencode",
    args: [
      ...run,
      ...(model === undefined ? [] : ["--model", model]),
      ...(resumeSessionId === undefined ? [] : ["--session", resumeSessionId]),
      toArgument(prompt),
      // After the prompt, because this flag reads every following argument.
      ...images.flatMap(({ path }) => ["--file", path])
    ],
    env: { OPENCODE_DISABLE_AUTOUPDATE: "1", ...(projectSettings === "enabled" ? {} : withoutTools) },
    stdin: "ignore"
  }),
  protocol: (start) =>
    new OneShotProtocol(program, (collector) => new OpenCodeLines(program, collector, start))
}
