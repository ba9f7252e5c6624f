/**
 * Gemini CLI, one prompt a process (`one-shot/GeminiLines`): it cannot ask, so it runs in `full_access`, or in its own plan mode, which
 * refuses to write and offers no shell.
 *
 * Project settings: Gemini refuses a folder that is not trusted, and reads everything of a trusted one. So the Edge does not start it where
 * such files exist and are not granted. Only `full_access` and the grant tell Gemini to trust the folder. In other runs with `read_only` or
 * `plan` the folder must be trusted in Gemini itself, or by `GEMINI_CLI_TRUST_WORKSPACE` in the Edge's environment.
 */
import type { RuntimeAdapter } from "@corral/domain/run/RuntimeAdapter"
import { proxies } from "./one-shot/Environment.ts"
import type { ProgramInfo } from "./one-shot/Failure.ts"
import { geminiProject } from "./ProjectFiles.ts"
import { GeminiLines } from "./one-shot/GeminiLines.ts"
import { toArgument, oneShotCapabilities, OneShotProtocol } from "./one-shot/OneShot.ts"

const signIn = "Run `gemini` on this machine and sign in, or set GEMINI_API_KEY for the Edge."
const words: ProgramInfo = { label: "Gemini CLI", signIn }

/** Gemini CLI, found as `gemini` on PATH. */
export const gemini: RuntimeAdapter = {
  specificationVersion: 1,
  id: "gemini",
  label: words.label,
  capabilities: oneShotCapabilities({ resume: true, readOnly: true }),
  probe: {
    command: "gemini",
    versionArgs: ["--version"],
    install: "Install Gemini CLI: npm install -g @google/gemini-cli",
    signIn
  },
  passEnv: ["GEMINI_*", "GOOGLE_*", ...proxies],
  projectSettings: geminiProject,
  command: ({ prompt, mode, model, projectSettings, resumeSessionId }) => ({
    file: "gemini",
    args: [
      "-p",
      toArgument(prompt),
      "--output-format",
      "stream-json",
      ...(mode === "full_access" || projectSettings === "enabled" ? ["--skip-trust"] : []),
      "--approval-mode",
      mode === "full_access" ? "yolo" : "plan",
      ...(model === undefined ? [] : ["-m", model]),
      ...(resumeSessionId === undefined ? [] : ["--resume", resumeSessionId])
    ],
    stdin: "ignore"
  }),
  protocol: (start) => new OneShotProtocol(words, (collector) => new GeminiLines(words, collector, start))
}
