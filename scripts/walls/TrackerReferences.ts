/**
 * References to a tracker or to a list of findings: `issue 12`, `#123`, `H6`. A reader of the repository has neither. Write what was decided, or name
 * the ADR.
 *
 * Does not: look at code, where `#2` is a private field or a colour and `S1` is data. Only at documents, comments and names of tests.
 */
import { parse } from "./Trees.ts"

/** The last letters are those of lists of findings. `V8`, `R1` and control characters of C0 are not. */
const REFERENCE =
  /\b(?:issues?|findings?|tickets?|pull requests?) (?:[A-Z]?\d+|#\d+)\b|(?<![\w&/'"`$#{}\\])#\d{2,5}\b(?![-\w])|(?<![\w/`'".%^-])[BHKPSX]\d{1,2}\b(?![\w/`'"%=-])/gi

const lowerCaseId = /^[bhkpsx]\d/

export interface TrackerReference {
  readonly line: number
  readonly text: string
}

const referencesIn = (text: string, from = 0, whole = text): ReadonlyArray<TrackerReference> =>
  [...text.matchAll(REFERENCE)]
    .filter(([found]) => !lowerCaseId.test(found))
    .map(({ 0: found, index }) => ({ text: found, line: whole.slice(0, from + index).split("\n").length }))

/** Names of tests: the first text of `describe`, `it` and the like. */
const TEST_NAME = /\b(?:describe|it|test)(?:\.\w+(?:\([^)]*\))?)?\(\s*("[^"\n]*"|`[^`]*`|'[^'\n]*')/g

const inSource = (path: string, text: string): ReadonlyArray<TrackerReference> => {
  // Few texts have one, and parsing is nearly all of the work.
  if (text.search(REFERENCE) < 0) return []
  const comments = parse(path, text).comments.flatMap(({ start, value }) =>
    referencesIn(value, start + 2, text)
  )
  const names = [...text.matchAll(TEST_NAME)].flatMap(({ 0: call, 1: name = "", index }) =>
    referencesIn(name.slice(1, -1), index + call.length - name.length + 1, text)
  )
  return [...comments, ...names]
}

export const trackerReferencesIn = (path: string, text: string): ReadonlyArray<TrackerReference> =>
  /\.[cm]?[jt]sx?$/.test(path) ? inSource(path, text) : referencesIn(text)
