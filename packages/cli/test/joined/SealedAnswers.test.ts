/**
 * Secret answers that pass through a Hub: none of its tables, files, logs and streams has them, and neither has its memory. Plain answers, and the same
 * secrets without a seal, show that the search finds what is there.
 */
import type { HubInput } from "@corral/domain/hub-api/HubRun"
import type { RunId } from "@corral/domain/identity/Ids"
import { sealValue } from "@corral/domain/input/Seal"
import { openJoined } from "@corral/testing/stack/Joined"
import { until } from "@corral/testing/time/Until"
import { assert, describe, it } from "@effect/vitest"
import { randomBytes } from "node:crypto"
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { textsInHeap, textsInMemory } from "./ProcessMemory.ts"
import { filesWith, tablesWith } from "./StoredText.ts"

const unique = (name: string): string => `${name}-${randomBytes(12).toString("hex")}`
const hasMemory = existsSync("/proc/self/mem")

describe.skipIf(!hasMemory)("A sealed answer", () => {
  it("is nowhere in the Hub that passes it on: tables, files, log, stream, memory", async () => {
    const joined = await openJoined({ hubEnv: { NODE_OPTIONS: "--heapsnapshot-signal=SIGUSR2" } })
    const { edge, hub, owner } = joined
    // The Hub may show a question as open after the program has its answer.
    const answeredIds = new Set<string>()
    const openInput = (runId: RunId, kind: boolean) =>
      until(
        async () => {
          const path = `/client/inputs?runId=${runId}&state=pending`
          const { body } = await owner.ask<{ readonly items: ReadonlyArray<HubInput> }>("GET", path)
          return body.items.find(
            ({ id, questions = [] }) => !answeredIds.has(id) && (questions[0]?.secret === true) === kind
          )
        },
        "a question at the Hub",
        60_000
      )
    const answer = (id: string, value: unknown) =>
      owner.ask("POST", `/client/inputs/${id}/answer`, { body: { answers: { "1": value } } })

    // A text of one byte per character, and one of two.
    const secrets = [unique("secret"), unique("密码")]
    const cores = secrets.map((secret) => secret.slice(secret.indexOf("-") + 1))
    const plain = unique("plain")
    const openTitle = unique("open")
    const { runId } = await joined.task({
      text: ["/question What is its name?", "/secret Token?", "/secret Token?", "/say over"].join("\n")
    })
    assert.strictEqual((await answer((await openInput(runId, false)).id, plain)).status, 200)
    for (const secret of secrets) {
      const { id, sealingKey = "" } = await openInput(runId, true)
      const answered = await answer(id, await sealValue(sealingKey, id, secret))
      assert.strictEqual(answered.status, 200, answered.text)
      answeredIds.add(id)
      await until(async () => {
        const file = join(edge.workspace, "secret.txt")
        return existsSync(file) && readFileSync(file, "utf8") === secret ? true : undefined
      }, "the secret at the program")
    }
    await joined.runWith(runId, ({ state }) => state === "completed")
    const open = await joined.task({ text: `/question ${openTitle}` })
    await openInput(open.runId, false)

    const log = await owner.ask("GET", `/client/runs/${runId}/events?limit=200`)
    assert.include(log.text, plain)
    assert.include(log.text, "[redacted]")
    for (const text of [...secrets, ...cores]) {
      assert.notInclude(log.text, text)
      assert.notInclude(hub.stderr, text)
    }
    assert.isNotEmpty(await tablesWith(hub, [plain]))
    assert.deepStrictEqual(await tablesWith(hub, [...secrets, ...cores]), [])
    assert.deepStrictEqual(filesWith([hub.folder, edge.home], [...secrets, ...cores]), [])

    const searched = [plain, openTitle, ...secrets, ...cores]
    // Freed memory is used again: what is not found is read again.
    await until(async () => {
      await owner.ask("GET", `/client/runs/${runId}/events?limit=200`)
      const found = await textsInMemory(hub.pid, searched)
      assert.includeMembers([plain, openTitle], [...found])
      return found.length === 2 || undefined
    }, "what is no secret in the Hub's memory")
    assert.deepStrictEqual(await textsInHeap(hub.pid, hub.folder, [openTitle, ...secrets, ...cores]), [
      openTitle
    ])

    // A snapshot of the heap stops the Hub for so long that the device connects again.
    await joined.online()
    // Without a seal the Hub refuses them, and has had them in its memory.
    const last = await joined.task({ text: "/secret Token?" })
    const { id } = await openInput(last.runId, true)
    // Freed memory is used again: what is not found is sent again.
    await until(
      async () => {
        for (const secret of secrets) assert.strictEqual((await answer(id, secret)).status, 422)
        return (await textsInMemory(hub.pid, cores)).length === cores.length || undefined
      },
      "secrets that were sent without a seal in the Hub's memory",
      60_000
    )
    assert.deepStrictEqual(await tablesWith(hub, [...secrets, ...cores]), [])
  })
})
