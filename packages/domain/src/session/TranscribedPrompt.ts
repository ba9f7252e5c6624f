/**
 * Prompts that begin with the conversation so far, for a runtime that does not remember it. Each line of the transcript begins with `| `, so
 * no message can end it.
 */

const INTRODUCTION =
  "Transcript of the conversation so far. You do not remember it yourself. Use it as background, and answer the message after it."

/** `entries`: lines that begin with `| `. */
export const transcribedPrompt = (entries: ReadonlyArray<string>, message: string): string =>
  [INTRODUCTION, "", ...entries, "", message].join("\n")

/** The message of a prompt, without the conversation before it. */
export const messageOfPrompt = (prompt: string): string => {
  const start = `${INTRODUCTION}\n\n`
  if (!prompt.startsWith(start)) return prompt
  let at = start.length
  while (prompt.startsWith("| ", at)) {
    const end = prompt.indexOf("\n", at)
    if (end === -1) return prompt
    at = end + 1
  }
  return at > start.length && prompt[at] === "\n" ? prompt.slice(at + 1) : prompt
}
