/**
 * Safe text of programs. Terminal sequences are removed and invisible or directional characters are named, so that text can't be disguised.
 *
 * *Does not:* escape HTML; React does.
 */
import { safeText } from "@corral/domain/text/SafeText"

const ESC = "\u001b"
const END = String.raw`(?:\u0007|${ESC}\\|\u009c|$)`

/**
 * Escape sequences: CSI with its parameters and its last letter as groups, OSC, DCS and similar ones, and short escapes. Includes sequences that
 * the end of the text cuts off.
 */
export const escapeSequence = new RegExp(
  String.raw`${ESC}(?:\[([0-?]*)[ -/]*([@-~]|$)|[\]PX^_][^\u0007${ESC}\u009c]{0,4096}${END}|[ -/]*[0-~])`,
  "g"
)

/** Removes escape sequences, shows other control characters and replaces lone surrogates. */
export const visibleText = (text: string): string =>
  visibleControls(text.includes(ESC) ? text.replaceAll(escapeSequence, "") : text)

/** As `visibleText`, for text without escape sequences. */
export const visibleControls = (text: string): string =>
  safeText(text.toWellFormed().replaceAll(/\r+\n|\r/g, "\n"))

/** Whether `visibleLine` shows the text as it is. */
export const isVisibleLine = (text: string, most: number): boolean => visibleLine(text, most) === text

/** As `visibleText`, on one line of at most `most` characters. */
export const visibleLine = (text: string, most = 200): string => {
  const line = visibleText(text.slice(0, most * 2))
    .replaceAll(/\s+/g, " ")
    .trim()
  return line.length > most ? `${line.slice(0, most).toWellFormed()}…` : line
}
