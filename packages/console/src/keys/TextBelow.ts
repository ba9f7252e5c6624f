/** The text field below a card of a thread: what is typed while the card has the focus arrives there. */

/** The text field of the composer, or of another message form below the card. */
export const fieldBelow = (card: Element | null): HTMLTextAreaElement | undefined => {
  const fields = card?.closest(".thread-dock")?.querySelectorAll("textarea") ?? []
  return [...fields].findLast((field) => card?.contains(field) !== true)
}

/** Focuses the field and puts a text where its caret is. The browser then enters the pressed key itself. */
export const writeInto = (field: HTMLTextAreaElement, text: string): void => {
  field.focus()
  if (text === "") return
  const { selectionEnd, selectionStart } = field
  field.setRangeText(text, selectionStart, selectionEnd, "end")
  field.dispatchEvent(new Event("input", { bubbles: true }))
}
