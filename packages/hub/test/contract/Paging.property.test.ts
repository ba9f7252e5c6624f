/**
 * Lists under inserts: a walk by cursor misses nothing that was there at its start and shows nothing twice, at any page size;
 * a cursor that is damaged, of another list or another person's is refused.
 */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { encodeCursor } from "@corral/domain/http/Page"
import { Effect, Schema } from "effect"
import { codeOf, type HubClient } from "@corral/testing/hub/HubClient"
import { HubInProcess } from "@corral/testing/hub/HubInProcess"
import { registerDevice } from "@corral/testing/hub/Offers"
import { type ListPage, walk } from "../harness/Pages.ts"
import { analyze, type SeededList, seededLists } from "../harness/SeededLists.ts"
import { makeProject, makeSession } from "@corral/testing/hub/People"
import { effort, tries } from "@corral/testing/time/Effort"

const names = [
  "projects",
  "sessions of a project",
  "sessions of a state",
  "all sessions",
  "messages",
  "agents of a session",
  "devices",
  "members",
  "chat accounts",
  "linked workspaces"
] as const
const ROWS = 2_000

const Sizes = Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 40, maximum: 200 }))).check(
  Schema.isMinLength(1),
  Schema.isMaxLength(5)
)
const Late = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 30 }))

describe("A list", { timeout: 600_000 * effort }, () => {
  const hub = new HubInProcess()
  let ada: HubClient
  let eve: HubClient
  let lists: Readonly<Record<string, SeededList>>
  let next = ROWS

  beforeAll(async () => {
    await hub.start()
    ada = await hub.signedIn("ada")
    eve = await hub.signedIn("eve")
    assert.isDefined(ada.userId)
    const { id: projectId } = await makeProject(ada)
    const { id: sessionId } = await makeSession(ada, { id: projectId })
    const { id: targetId } = await registerDevice(ada)
    lists = seededLists({ hub, userId: ada.userId, projectId, sessionId, targetId })
    for (const name of names.filter((name) => !name.startsWith("sessions")))
      await lists[name]?.insert(0, ROWS, false)
    await analyze(hub)
  })
  afterAll(() => hub.remove())

  const listOf = (name: string): SeededList => {
    const found = lists[name]
    if (found === undefined) throw new Error(`no list of ${name}`)
    return found
  }

  for (const name of names) {
    it.effect.prop(
      `of ${name} misses nothing and shows nothing twice`,
      [Sizes, Late],
      ([sizes, late]) =>
        Effect.promise(async () => {
          const { insert, key, path } = listOf(name)
          const there = (await walk<never>(ada, path, 200)).map(key)
          assert.isAtLeast(there.length, ROWS)
          let turn = 0
          const seen = await walk<never>(
            ada,
            path,
            () => sizes[turn++ % sizes.length] ?? 50,
            async () => {
              next += late
              await insert(next - late, late, true)
            }
          )
          const keys = seen.map(key)
          const distinct = new Set(keys)
          assert.strictEqual(distinct.size, keys.length)
          assert.deepStrictEqual(
            there.filter((one) => !distinct.has(one)),
            []
          )
        }),
      tries(1)
    )
  }

  const firstCursor = async (name: string): Promise<string> => {
    const page = await ada.ask<ListPage<unknown>>("GET", withQuery(listOf(name).path, "limit=3"))
    assert.isNotNull(page.body.nextCursor)
    return page.body.nextCursor ?? ""
  }
  const withQuery = (path: string, query: string) => `${path}${path.includes("?") ? "&" : "?"}${query}`
  const assertRefused = async (client: HubClient, path: string, cursor: string) => {
    const answer = await client.ask("GET", withQuery(path, `cursor=${encodeURIComponent(cursor)}`))
    assert.deepStrictEqual([answer.status, codeOf(answer)], [422, "schema_validation_failed"])
  }

  it("rejects a cursor of another list", async () => {
    for (const name of names)
      for (const other of names)
        if (name !== other) await assertRefused(ada, listOf(name).path, await firstCursor(other))
  })

  it("rejects a cursor of another user", async () => {
    for (const name of ["projects", "all sessions", "devices"])
      await assertRefused(eve, listOf(name).path, await firstCursor(name))
    await ada.ask("POST", listOf("members").path, { body: { userId: eve.userId, role: "viewer" } })
    for (const name of names) await assertRefused(eve, listOf(name).path, await firstCursor(name))
  })

  it.effect.prop(
    "takes no damaged cursor",
    [Schema.Literals(names), Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1_023 })), Late],
    ([name, at, shift]) =>
      Effect.promise(async () => {
        const cursor = await firstCursor(name)
        const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
        const i = at % cursor.length
        const letter = letters.charAt((letters.indexOf(cursor.charAt(i)) + shift) % 64)
        await assertRefused(ada, listOf(name).path, cursor.slice(0, i) + letter + cursor.slice(i + 1))
        await assertRefused(ada, listOf(name).path, cursor.slice(0, i))
      }),
    tries(10)
  )

  it.each(["\0", "x", "2026-02-30T99:99:99.999Z ses_1", "'; --", "9".repeat(40), "-1", " ", ""])(
    "rejects a forged cursor: %j",
    async (position) => {
      const filters = {
        projects: "projects",
        "all sessions": "sessions [null,null]",
        devices: "devices ",
        members: `members ${listOf("members").path.split("/")[3]}`,
        messages: `messages ${listOf("messages").path.split("/")[3]}`,
        "linked workspaces": `workspaces ${listOf("members").path.split("/")[3]}`
      }
      const audit = await ada.ask(
        "GET",
        `/client/audit?cursor=${encodeCursor({ filter: "audit [null,{}]", principal: String(ada.userId), position })}`
      )
      assert.include([200, 422], audit.status, audit.text)
      for (const [name, filter] of Object.entries(filters)) {
        const cursor = encodeCursor({ filter, principal: String(ada.userId), position })
        const answer = await ada.ask("GET", withQuery(listOf(name).path, `cursor=${cursor}`))
        assert.include([200, 422], answer.status, `${name} ${answer.text}`)
      }
    }
  )
})
