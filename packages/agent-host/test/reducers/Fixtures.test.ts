/**
 * Stored test cases of the protocol's reducers. `CORRAL_TEST_AHP_FIXTURES` names a folder with the protocol's `test-cases`, whose folder `reducers` has one
 * JSON file for each case.
 */
import { assert, describe, it } from "@effect/vitest"
import { existsSync, globSync, readFileSync } from "node:fs"
import { join } from "node:path"
import type { ChangesetAction, ChatAction, RootAction, SessionAction } from "../../src/protocol/Actions.ts"
import type { ChangesetState, ChatState, RootState, SessionState } from "../../src/protocol/State.ts"
import { changesetReducer, rootReducer, sessionReducer } from "../../src/reducers/ChannelReducers.ts"
import { chatReducer } from "../../src/reducers/ChatReducer.ts"

interface Fixture {
  readonly description: string
  readonly reducer: string
  readonly initial: unknown
  readonly actions: ReadonlyArray<{ readonly type: string }>
  readonly expected: unknown
}

type Reducer = (state: unknown, action: unknown) => unknown

/** States and actions of a case are those of its reducer. */
const reducers: Readonly<Record<string, Reducer>> = {
  root: (state, action) => rootReducer(state as RootState, action as RootAction),
  session: (state, action) => sessionReducer(state as SessionState, action as SessionAction),
  chat: (state, action) => chatReducer(state as ChatState, action as ChatAction),
  changeset: (state, action) => changesetReducer(state as ChangesetState, action as ChangesetAction)
}

/** The host offers no customizations and no MCP servers: it neither sends these actions nor reduces them. */
const isLeftOut = ({ actions }: Fixture): boolean =>
  actions.some(({ type }) => /^session\/(?:customization|mcpServer)/.test(type))

/** Without members that have no value: a case writes them as `null`. */
const canonical = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(canonical)
  if (typeof value !== "object" || value === null) return value
  const entries = Object.entries(value).filter(([, member]) => member !== undefined && member !== null)
  return Object.fromEntries(
    entries.toSorted(([a], [b]) => a.localeCompare(b)).map(([name, member]) => [name, canonical(member)])
  )
}

const folder = process.env["CORRAL_TEST_AHP_FIXTURES"] ?? ""
const hasFixtures = folder !== "" && existsSync(join(folder, "reducers"))

describe("the protocol's test cases", () => {
  it.runIf(hasFixtures)("lead to the same states", () => {
    const cases = globSync("reducers/*.json", { cwd: folder })
      .map((file): Fixture => JSON.parse(readFileSync(join(folder, file), "utf8")))
      .filter((fixture) => fixture.reducer in reducers && !isLeftOut(fixture))
    assert.isNotEmpty(cases)
    const different = cases.flatMap(({ actions, description, expected, initial, reducer }) => {
      const reduce = reducers[reducer]
      const state =
        reduce === undefined ? initial : actions.reduce((each, action) => reduce(each, action), initial)
      return JSON.stringify(canonical(state)) === JSON.stringify(canonical(expected))
        ? []
        : [`${reducer}: ${description}`]
    })
    assert.deepStrictEqual(different, [])
  })
})
