/** The command in a hint of an Edge, such as "Install Codex: npm install -g @openai/codex". Pure. */

/** `undefined` if the hint names none. */
export const setupCommand = (hint: string | undefined): string | undefined => {
  const marked = hint?.split("`", 3)[1]
  if (marked !== undefined && marked.trim() !== "" && hint?.split("`").length !== 2) return marked.trim()
  const at = hint?.indexOf("npm install ") ?? -1
  return hint === undefined || at === -1 ? undefined : hint.slice(at).trim()
}
