/** What explains a failed run in a terminal: the last lines of its program, and what the confinement may have to do with it. */
import { confinedHintOf, lastWordsOf } from "@corral/domain/run/ConfinedFailure"
import { confinedFailureText } from "@corral/domain/run/ConfinementText"
import type { RunFailure } from "@corral/domain/run/Run"
import { escapeLine } from "../terminal/VisibleText.ts"

/** Lines of the program that are shown. The whole text is in the event. */
const SHOWN = 12

export const failureLines = (error: RunFailure): ReadonlyArray<string> => {
  const words = lastWordsOf(error)?.split("\n").slice(-SHOWN).map(escapeLine) ?? []
  const hint = confinedHintOf(error)
  return hint === undefined ? words : [...words, confinedFailureText(hint)]
}
