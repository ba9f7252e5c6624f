/**
 * Gemini CLI, one prompt per process (`one-shot/GeminiLines`). It cannot request permissions, so it runs in `full_access`, or where the
 * Edge confines it. Its own plan mode is no limit: with one prompt it approves its plan by itself, and then allows itself everything.
 *
 * Project settings: Gemini refuses an untrusted folder, and reads all settings of a trusted one. So the Edge does not start it if such files
 * exist without a grant. Only `full_access` and the grant make Gemini trust the folder. For other runs, trust the
 * folder in Gemini itself, or set `GEMINI_CLI_TRUST_WORKSPACE` for the Edge.
 */
import { dirname } from "node:path"
import type { RunImage, RuntimeAdapter } from "@corral/domain/run/RuntimeAdapter"
import { proxies } from "./one-shot/Environment.ts"
import type { ProgramInfo } from "./one-shot/Failure.ts"
import { geminiNetwork } from "./ModelHosts.ts"
import { geminiProject } from "./ProjectFiles.ts"
import { geminiFolders } from "./StateFolders.ts"
import { GeminiLines } from "./one-shot/GeminiLines.ts"
import { mayChange, toArgument, oneShotCapabilities, OneShotProtocol } from "./one-shot/OneShot.ts"

const signIn = "Run `gemini` on this machine and sign in, or set GEMINI_API_KEY for the Edge."
const program: ProgramInfo = { label: "Gemini CLI", signIn }

const readableFolders = (
  attachmentFolder: string | undefined,
  images: ReadonlyArray<RunImage>
): ReadonlyArray<string> => [
  ...new Set([
    ...(attachmentFolder === undefined ? [] : [attachmentFolder]),
    ...images.map(({ path }) => dirname(path))
  ])
]

/** Gemini CLI, found as `gemini` on PATH. */
export const gemini: RuntimeAdapter = {
  specificationVersion: 2,
  id: "gemini",
  label: program.label,
  capabilities: oneShotCapabilities({ resume: true }),
  continuation: { store: "~/.gemini/tmp", model: "any", mode: "any", folder: "same" },
  images: "native",
  probe: {
    command: "gemini",
    versionArgs: ["--version"],
    install: "Install Gemini CLI: npm install -g @google/gemini-cli",
    signIn
  },
  passEnv: ["GEMINI_*", "GOOGLE_*", ...proxies],
  projectSettings: geminiProject,
  folders: geminiFolders,
  network: geminiNetwork,
  command: ({
    attachmentFolder,
    images = [],
    isConfined,
    prompt,
    mode,
    model,
    projectSettings,
    resumeSessionId
  }) => ({
    file: "gemini",
    args: [
      "-p",
      toArgument([prompt, ...images.map(({ path }) => `@${path.replaceAll(/[\\\s]/g, "\\$&")}`)].join(" ")),
      "--output-format",
      "stream-json",
      ...(mode === "full_access" || projectSettings === "enabled" ? ["--skip-trust"] : []),
      "--approval-mode",
      mayChange({ isConfined, mode }) ? "yolo" : "plan",
      ...(model === undefined ? [] : ["-m", model]),
      ...(resumeSessionId === undefined ? [] : ["--resume", resumeSessionId]),
      // Gemini reads no other files.
      ...readableFolders(attachmentFolder, images).flatMap((folder) => ["--include-directories", folder])
    ],
    stdin: "ignore"
  }),
  protocol: (start) => new OneShotProtocol(program, (collector) => new GeminiLines(program, collector, start))
}
