/** Texts that cannot be indexed hold up no other. */
import { HubInProcess } from "@corral/testing/hub/HubInProcess"
import { makeProject, makeSession } from "@corral/testing/hub/People"
import { tries } from "@corral/testing/time/Effort"
import { until } from "@corral/testing/time/Until"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import * as fc from "fast-check"
import { indexChanges } from "../../src/search/SearchIndexer.ts"

describe("The search indexer", () => {
  const hub = new HubInProcess()
  let sessionId: string
  let userId: string
  let number = 0

  const execute = (text: string) =>
    hub.people.act(Effect.flatMap(SqlClient.SqlClient, (sql) => sql.unsafe<Record<string, unknown>>(text)))

  beforeAll(async () => {
    await hub.start()
    const ada = await hub.signedIn("ada")
    userId = ada.userId ?? ""
    const project = await makeProject(ada)
    sessionId = (await makeSession(ada, project)).id
    await execute(`CREATE FUNCTION refuse_text() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF NEW.text LIKE 'refused %' THEN RAISE 'refused'; END IF;
        RETURN NEW;
      END $$`)
    await execute(
      `CREATE TRIGGER refused BEFORE INSERT ON search_documents FOR EACH ROW EXECUTE FUNCTION refuse_text()`
    )
  })
  afterAll(() => hub.remove())

  it("indexes every text that can be indexed, wherever those are that cannot", () =>
    fc.assert(
      // More than a batch.
      fc.asyncProperty(fc.array(fc.boolean(), { minLength: 1, maxLength: 70 }), async (refused) => {
        const ids = refused.map(() => `msg_${String(number++).padStart(26, "0")}`)
        const values = refused.map(
          (isRefused, index) =>
            `('${ids[index]}', '${sessionId}', '${userId}', '${isRefused ? "refused" : "plain"} ${ids[index]}', now())`
        )
        await execute(
          `INSERT INTO messages (id, session_id, user_id, text, created_at) VALUES ${values.join(", ")}`
        )
        const plain = refused.filter((isRefused) => !isRefused).length
        const list = ids.map((id) => `'${id}'`).join(", ")
        await until(async () => {
          await hub.people.act(indexChanges())
          const found = await execute(`SELECT 1 FROM search_documents WHERE message_id IN (${list})`)
          return found.length === plain || undefined
        }, "the texts that can be indexed")
        const noted = await execute(`SELECT DISTINCT id FROM search_changes WHERE id IN (${list})`)
        assert.lengthOf(noted, refused.length - plain)
      }),
      { numRuns: tries(5).arbitrary.runs }
    ))

  it("indexes a text later that could not be indexed", async () => {
    await execute("DROP TRIGGER refused ON search_documents")
    await until(async () => {
      await hub.people.act(indexChanges())
      return (await execute("SELECT 1 FROM search_changes LIMIT 1")).length === 0 || undefined
    }, "the other texts")
    const found = await execute("SELECT 1 FROM search_documents WHERE message_id IS NOT NULL")
    assert.lengthOf(found, number)
  })
})
