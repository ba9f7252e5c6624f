/** How reports of `corral doctor` and `corral hub doctor` look: a mark before each line, and a hint after it. */
import type { Paint } from "../terminal/Paint.ts"
import { escapeLine } from "../terminal/VisibleText.ts"

/** Marks and hints of a report, with or without colours. */
export interface ReportStyle {
  readonly paint: Paint
  readonly mark: (isGood: boolean) => string
  /** Mark of something that is missing but not required. */
  readonly optional: string
  /** Dimmed hint with a leading space. Empty if all parts are undefined. */
  readonly hint: (...parts: ReadonlyArray<string | undefined>) => string
}

export const styleOf = (paint: Paint): ReportStyle => ({
  paint,
  mark: (isGood) => (isGood ? paint("green", "✓") : paint("red", "✗")),
  optional: paint("yellow", "–"),
  hint: (...parts) => {
    const text = parts.filter((part) => part !== undefined).join(": ")
    return text === "" ? "" : ` ${paint("dim", escapeLine(text))}`
  }
})
