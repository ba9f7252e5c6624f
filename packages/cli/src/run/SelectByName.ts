/** Choice of one item by its id, a unique start of its id, or its name; without one, of the only item. */
import { Effect } from "effect"
import { refused } from "../CommandFailed.ts"
import { escapeLine } from "../terminal/VisibleText.ts"

export interface Named {
  readonly id: string
  readonly name: string
}

const formatNames = (all: ReadonlyArray<Named>): string =>
  all.map(({ id, name }) => `${escapeLine(name)} (${id})`).join(", ") || "none"

/** Shortest start of an id after its kind, as in `dev_01`. */
const MIN_START = 6

/** Items with this id or name. Without one, those whose id starts with it. */
export const itemsNamed = <A extends Named>(all: ReadonlyArray<A>, wanted: string): ReadonlyArray<A> => {
  const exact = all.filter(({ id, name }) => id === wanted || name === wanted)
  return exact.length > 0 || wanted.length < MIN_START ? exact : all.filter(({ id }) => id.startsWith(wanted))
}

/** `flag` selects the item on the command line. */
export const selectByName = <A extends Named>(
  what: string,
  flag: string,
  all: ReadonlyArray<A>,
  wanted?: string
) => {
  const matching = wanted === undefined ? all : itemsNamed(all, wanted)
  const [one] = matching
  if (one !== undefined && matching.length === 1) return Effect.succeed(one)
  const problem =
    wanted === undefined
      ? `Choose ${/^[aeiou]/.test(what) ? "an" : "a"} ${what} with ${flag}.`
      : `${matching.length === 0 ? "No" : "More than one"} ${what} is named ${escapeLine(wanted)}.`
  return Effect.fail(refused(`${problem} Available: ${formatNames(matching.length > 1 ? matching : all)}.`))
}
