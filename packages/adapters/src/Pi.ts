/**
 * Pi, one prompt per process (`one-shot/PiLines`). Pi has no permissions: it runs in `full_access`, or without tools that write or execute.
 * Then it has no extensions either, because a folder may contain some.
 */
import type { RuntimeAdapter } from "@corral/domain/run/RuntimeAdapter"
import { modelServices, proxies } from "./one-shot/Environment.ts"
import type { ProgramInfo } from "./one-shot/Failure.ts"
import { mayChange, toArgument, oneShotCapabilities, OneShotProtocol } from "./one-shot/OneShot.ts"
import { piNetwork } from "./ModelHosts.ts"
import { piProject } from "./ProjectFiles.ts"
import { piFolders } from "./StateFolders.ts"
import { PiLines } from "./one-shot/PiLines.ts"

const signIn = "Run `pi` on this machine and use /login, or set the key of your model service for the Edge."
const program: ProgramInfo = { label: "Pi", signIn }

/** Pi, found as `pi` on PATH. */
export const pi: RuntimeAdapter = {
  specificationVersion: 1,
  id: "pi",
  label: program.label,
  capabilities: oneShotCapabilities({ readOnly: true, resume: true }),
  counts: ["tokens", "turns"],
  continuation: {
    store: "~/.pi/agent/sessions",
    model: "any",
    mode: "any",
    folder: "same"
  },
  images: "native",
  probe: {
    command: "pi",
    versionArgs: ["--version"],
    install: "Install Pi: npm install -g @mariozechner/pi-coding-agent",
    signIn
  },
  passEnv: ["PI_*", ...modelServices, ...proxies],
  projectSettings: piProject,
  folders: piFolders,
  network: piNetwork,
  command: ({ images = [], isConfined, prompt, mode, model, projectSettings, resumeSessionId }) => ({
    file: "pi",
    args: [
      "--mode",
      "json",
      ...(mayChange({ isConfined, mode }) ? [] : ["--tools", "read,grep,find,ls"]),
      // In a read-only mode any extension could be a tool that writes, the user's own included.
      ...(mayChange({ isConfined, mode }) && projectSettings === "enabled" ? [] : ["--no-extensions"]),
      ...(projectSettings === "enabled" ? [] : ["--no-skills", "--no-prompt-templates", "--no-themes"]),
      ...(model === undefined ? [] : ["--model", model]),
      ...(resumeSessionId === undefined ? [] : ["--session", resumeSessionId]),
      "-p",
      ...images.map(({ path }) => `@${path}`),
      toArgument(prompt)
    ],
    stdin: "ignore"
  }),
  protocol: (start) => new OneShotProtocol(program, (collector) => new PiLines(program, collector, start))
}
