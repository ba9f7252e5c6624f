import { CorralError } from "@corral/client/http/CorralError"
import type { ProjectId } from "@corral/domain/identity/Ids"
import { mergedFields, withChoice } from "@corral/domain/preference/ChangedPreferences"
import type { Preferences } from "@corral/domain/preference/Preferences"
import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { type SendChanges, sendChange } from "../../src/preference/StoredPreferences.ts"

/** The Hub's rule of versions, with a moment before each request and each answer in which another page can be faster. */
const hubOf = (scheduler: fc.Scheduler) => {
  let stored: Preferences = { version: 0 }
  const send: SendChanges = async ({ version, ...changes }) => {
    await scheduler.schedule(Promise.resolve(), "request")
    const isNewest = version === stored.version
    if (isNewest) stored = { ...mergedFields(stored, changes), version: version + 1 }
    const answer = stored
    await scheduler.schedule(Promise.resolve(), "answer")
    if (isNewest) return answer
    throw new CorralError("conflict", { status: 409, message: "", details: { preferences: answer } })
  }
  return { send, stored: () => stored }
}

const projectOf = (n: number) => `prj_${n}` as ProjectId

describe("sendChange", () => {
  it("loses no choice of two pages, in any order of requests and answers", async () => {
    await fc.assert(
      fc.asyncProperty(fc.scheduler(), fc.integer({ min: 1, max: 5 }), async (scheduler, each) => {
        const hub = hubOf(scheduler)
        const page = async (first: number) => {
          let stored: Preferences = { version: 0 }
          for (let n = first; n < first + each; n++) {
            const choice = { projectId: projectOf(n) }
            stored = await sendChange(
              stored,
              ({ lastChoices }) => ({ lastChoices: withChoice(lastChoices, choice) }),
              hub.send,
              20
            )
          }
        }
        await scheduler.waitFor(Promise.all([page(0), page(each)]))
        const expected = Array.from({ length: 2 * each }, (_, n) => projectOf(n))
        const { lastChoices, version } = hub.stored()
        assert.sameMembers(lastChoices?.map(({ projectId }) => projectId) ?? [], expected)
        assert.strictEqual(version, 2 * each)
      })
    )
  })

  it("fails after its attempts, and with any other error at the first", async () => {
    const failing = (error: CorralError) => {
      let attempts = 0
      const send: SendChanges = () => {
        attempts++
        return Promise.reject(error)
      }
      return { send, attempts: () => attempts }
    }
    const conflict = failing(
      new CorralError("conflict", { message: "", details: { preferences: { version: 9 } } })
    )
    const refused = failing(new CorralError("permission_denied", { message: "" }))
    for (const { send } of [conflict, refused])
      await sendChange({ version: 1 }, () => ({ theme: "dark" }), send, 3).then(
        () => assert.fail("the change was stored"),
        () => undefined
      )
    assert.deepStrictEqual([conflict.attempts(), refused.attempts()], [3, 1])
  })
})
