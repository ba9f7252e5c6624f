/**
 * Safe text for a terminal. Characters that move the cursor, change colours or reverse the reading order are shown as symbols, so that text
 * from an agent can't disguise an approval.
 */
import { safeText } from "@corral/domain/text/SafeText"

/** Replaces hidden characters by visible symbols. Keeps Windows line endings as newlines. */
export const escapeControls = (text: string): string => safeText(text.replaceAll("\r\n", "\n"))

/** As `escapeControls`, on one line. */
export const escapeLine = (text: string): string =>
  escapeControls(text).replaceAll("\n", "\u23ce").replaceAll("\t", " ")
