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

/** Reducers of channels that the host does not serve. */
const unserved: Readonly<Record<string, string>> = {
  annotations: "the host has no annotations",
  resourceWatch: "resources can only be read",
  terminal: "the host offers no terminals"
}

/** Actions that the host neither sends nor reduces. */
const unused = [
  {
    actions: /^session\/(?:customization|mcpServer)/,
    why: "the host offers no customizations and no MCP servers"
  }
]

const isLeftOut = ({ actions, reducer }: Fixture): boolean =>
  reducer in unserved || actions.some(({ type }) => unused.some((each) => each.actions.test(type)))

/**
 * Cases that lead to another state, by their descriptions, and why. The host has the reducers of 0.9.0; the cases of 0.6.0 to 0.8.0 are those that are stored.
 */
const differences: ReadonlyArray<{ readonly why: string; readonly cases: ReadonlyArray<string> }> = [
  {
    why: "since 0.9.0 a chat is modified at the time of its turn; before, at the time of the reducer's clock",
    cases: [
      "chat/truncated clears turnsNextCursor when turnId is omitted",
      "chat/turnComplete clamps a negative turn duration to zero",
      "chat/turnComplete force-cancels a tool call that is paused in auth-required status, with reason skipped",
      "session input completion and truncation remove outstanding requests",
      "session input completion records a declined URL request in the active turn, merging final answers over synced drafts",
      "session input requests sync drafts, record a resolved inputRequest part in the active turn, and restore in-progress status after completion",
      "session input upsert preserves or replaces answers and answerChanged clears last draft",
      "session/inputRequested sets inputNeeded status and syncs draft answers",
      "session/truncated clears all when turnId omitted",
      "session/truncated drops active turn",
      "session/truncated drops active turn even when clearing all",
      "session/truncated keeps all when turnId is last",
      "session/truncated keeps only first when turnId is first",
      "session/truncated keeps turns up to turnId",
      "session/turnStarted",
      "session/turnStarted clears isRead on a previously-read session",
      "turnStarted with queuedMessageId removes from queuedMessages",
      "turnStarted with queuedMessageId removes last queued message",
      "turnStarted with queuedMessageId removes matching steering message",
      "turnStarted without queuedMessageId does not touch pending messages"
    ]
  },
  {
    why: "since 0.9.0 the lifecycle is `failed`; before, `creationFailed`",
    cases: ["session/creationFailed"]
  },
  {
    why: "since 0.9.0 the error of a turn is a response part; before, a field of the turn",
    cases: ["session/error finalizes turn with error"]
  },
  {
    why: "since 0.9.0 new content of a changeset has no error: `changeset/statusChanged` has it",
    cases: ["changeset/contentChanged updates error information"]
  },
  {
    why: "since 0.8.0 a call that a client carries out waits for no person",
    cases: ["session/inputNeededSet replaces an existing entry with the same id and keeps status InputNeeded"]
  }
]

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
    const cases = globSync("reducers/*.json", { cwd: folder }).map((file): Fixture =>
      JSON.parse(readFileSync(join(folder, file), "utf8"))
    )
    assert.isNotEmpty(cases)
    const different = cases
      .filter((fixture) => !isLeftOut(fixture))
      .filter(({ actions, expected, initial, reducer }) => {
        const reduce = reducers[reducer]
        const state =
          reduce === undefined ? undefined : actions.reduce((each, action) => reduce(each, action), initial)
        return JSON.stringify(canonical(state)) !== JSON.stringify(canonical(expected))
      })
      .map(({ description }) => description)
    const listed = differences
      .flatMap((each) => each.cases)
      .filter((name) => cases.some(({ description }) => description === name))
    assert.deepStrictEqual(different.toSorted(), listed.toSorted())
  })
})
