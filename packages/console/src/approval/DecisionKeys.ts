/** Keys of a decision: they move the focus to a button, and Enter presses it. A key alone never decides. */

const answers: ReadonlyMap<string, string> = new Map([
  ["a", "a"],
  ["y", "a"],
  ["d", "d"],
  ["n", "d"],
  ["e", "e"]
])

/** Whether a key goes to a text or to a dialog. */
export const isTyping = (target: EventTarget | null): boolean =>
  target instanceof Element &&
  target.closest(
    "input, textarea, select, [contenteditable], dialog, [role=dialog], [role=alertdialog], [role=menu]"
  ) !== null

/** Focuses the button of the key in the card. Returns whether there is one. */
export const focusAnswer = (card: Element | null, key: string): boolean => {
  const answer = answers.get(key)
  const button = answer === undefined ? undefined : card?.querySelector<HTMLElement>(`[data-key="${answer}"]`)
  button?.focus()
  return button != null
}
