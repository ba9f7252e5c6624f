/**
 * Gemini CLI, one prompt a process (`one-shot/GeminiLines`): it cannot ask, so it runs in `full_access`, or in its own plan mode, which
 * refuses to write and offers no shell.
 *
 * A folder's own settings may start programs, so only `full_access` tells Gemini to trust the folder. In `read_only` and `plan` it must be
 * trusted in Gemini itself, or by `GEMINI_CLI_TRUST_WORKSPACE` in the Edge's environment.
 */
import type { RuntimeAdapter } from "@corral/domain/RuntimeAdapter"
import { proxies } from "./one-shot/Environment.ts"
import type { Words } from "./one-shot/Failure.ts"
import { GeminiLines } from "./one-shot/GeminiLines.ts"
import { argumentOf, capabilities, OneShotProtocol } from "./one-shot/OneShot.ts"

const signIn = "Run `gemini` on this machine and sign in, or set GEMINI_API_KEY for the Edge."
const words: Words = { label: "Gemini CLI", signIn }

/** Gemini CLI, found as `gemini` on PATH. */
export const gemini: RuntimeAdapter = {
  specificationVersion: 1,
  id: "gemini",
  label: words.label,
  capabilities: capabilities({ resume: true, readOnly: true }),
  probe: {
    command: "gemini",
    versionArgs: ["--version"],
    install: "Install Gemini CLI: npm install -g @google/gemini-cli",
    signIn
  },
  passEnv: ["GEMINI_*", "GOOGLE_*", ...proxies],
  command: ({ prompt, mode, model, resumeSessionId }) => ({
    file: "gemini",
    args: [
      "-p",
      argumentOf(prompt),
      "--output-format",
      "stream-json",
      ...(mode === "full_access" ? ["--skip-trust", "--approval-mode", "yolo"] : ["--approval-mode", "plan"]),
      ...(model === undefined ? [] : ["-m", model]),
      ...(resumeSessionId === undefined ? [] : ["--resume", resumeSessionId])
    ],
    stdin: "ignore"
  }),
  protocol: (start) => new OneShotProtocol(words, (turn) => new GeminiLines(words, turn, start))
}
