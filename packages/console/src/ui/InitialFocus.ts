/**
 * Refs that focus an element as soon as it is in the page.
 *
 * The dialog library focuses in the next animation frame. Keys typed before that go to the button that opened the dialog: the first letters
 * are lost, and a space closes the dialog again.
 */
export const focusAtOnce = (element: HTMLElement | null): void => element?.focus()

export const focusFirstField = (form: HTMLFormElement | null): void =>
  focusAtOnce(form?.querySelector<HTMLElement>("input, select, textarea") ?? null)
