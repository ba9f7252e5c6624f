/** What an inspection of a Hub's database found, for an operator. */

/** `unknown`: the database does not tell it, for example without the rights to. */
export type DatabaseFindingState = "good" | "problem" | "unknown"

export interface DatabaseFinding {
  readonly state: DatabaseFindingState
  /** One sentence, or a name with figures. Contains no data of users. */
  readonly message: string
  /** What to do. */
  readonly hint?: string
}

export const good = (message: string): DatabaseFinding => ({ state: "good", message })
export const problem = (message: string, hint: string): DatabaseFinding => ({
  state: "problem",
  message,
  hint
})
export const unknown = (message: string, hint: string): DatabaseFinding => ({
  state: "unknown",
  message,
  hint
})

/** `1 row`, `2 rows`. */
export const quantityOf = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? "" : "s"}`

/** `12 MB`, `1.5 GB`. */
export const sizeText = (bytes: number): string =>
  bytes < 1e9 ? `${Math.ceil(bytes / 1e6)} MB` : `${(bytes / 1e9).toFixed(1)} GB`
