/** Focus of the session's composer, after an action whose result is there or whose own button is gone. */
export const focusComposer = (): void =>
  document.querySelector<HTMLTextAreaElement>(".composer textarea")?.focus({ preventScroll: true })
