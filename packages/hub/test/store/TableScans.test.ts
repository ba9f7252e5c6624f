/** The checks of `scripts/plans.soak.test.ts` on plans that they must find. */
import { dropDatabase, makeDatabase, sharedServer } from "@corral/testing/postgres/SharedPostgres"
import { tableScans } from "@corral/testing/postgres/StatementLog"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Client } from "pg"

describe("tableScans", () => {
  let url: string
  let client: Client
  beforeAll(async () => {
    url = await makeDatabase(await sharedServer(), { prepared: false })
    client = new Client({ connectionString: url })
    await client.connect()
    await client.query(`CREATE TABLE records (chain int, seq bigint, PRIMARY KEY (chain, seq))`)
    await client.query(`INSERT INTO records SELECT i % 4, i FROM generate_series(1, 20000) i`)
    await client.query("VACUUM ANALYZE records")
  })
  afterAll(async () => {
    await client.end()
    await dropDatabase(url)
  })

  const found = (text: string) => tableScans(client, { text, parameters: [] }, new Set(["records_pkey"]))

  it.each([
    "SELECT seq::int AS seq FROM records WHERE chain = 1 ORDER BY seq LIMIT 50",
    "SELECT seq FROM records WHERE chain = 1 ORDER BY seq % 7 LIMIT 50",
    "SELECT * FROM (SELECT seq FROM records WHERE chain = 1 ORDER BY -seq) AS sorted LIMIT 50"
  ])("finds a sort of a whole list for one page: %s", async (text) => {
    assert.match((await found(text)).join("\n"), /^Sort of \d+ rows for 50/m)
  })

  it.each([
    "SELECT seq::int AS seq FROM records WHERE chain = 1 ORDER BY records.seq LIMIT 50",
    "SELECT seq FROM records WHERE chain = 1 AND seq <= 60 ORDER BY -seq LIMIT 50",
    "SELECT seq FROM records WHERE chain = 1 AND seq <= 60 ORDER BY -seq"
  ])("accepts an index in the order of the page, and sorts of a few rows: %s", async (text) => {
    assert.deepStrictEqual(await found(text), [])
  })

  it("executes nothing of a text of several statements", async () => {
    const refused = await found("SELECT 1; DELETE FROM records").catch((error: Error) => error.message)
    assert.include(String(refused), "multiple commands")
    const { rows } = await client.query("SELECT FROM records LIMIT 1")
    assert.lengthOf(rows, 1)
  })
})
