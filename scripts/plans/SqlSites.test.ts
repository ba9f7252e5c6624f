/** Which template of a source has made a logged statement. */
import { assert, describe, it } from "@effect/vitest"
import { isStatementSite, matches, siteOfStatement, sqlSitesOf } from "./SqlSites.ts"

const source = String.raw`
const page = sql${"`"}
  SELECT id FROM runs WHERE project_id = ${"${project}"}
  ${"${after === undefined ? sql`` : sql`AND id < ${after}`}"} ORDER BY id${"`"}
const runs = sql${"`"}FROM run_usage u WHERE ${"${sql.and(conditions)}"}${"`"}
const sums = sql${"`"}SELECT ${"${sql.literal(SUMS)} ${runs}"}${"`"}
const resolve = sql${"`"}UPDATE ${"${sql(table)}"} SET state = ${"${state}"} WHERE ${"${sql(key)}"} = ${"${id}"}${"`"}
const add = sql${"`"}INSERT INTO tasks ${"${sql.insert(row)}"}${"`"}
const any = sql<Row>${"`"}SELECT ${"${columns}"} FROM runs${"`"}
const whole = sql<Row>${"`"}SELECT ${"${columns}"} FROM runs WHERE state = 'queued'${"`"}`

const sites = sqlSitesOf("Example.ts", source)
const lineOf = (text: string): number | undefined => siteOfStatement(sites, text)?.line

describe("sqlSitesOf", () => {
  it("finds each template with its line, its text and the sources of what it inserts", () => {
    assert.deepStrictEqual(
      sites.map(({ line }) => line),
      [2, 4, 4, 5, 6, 7, 8, 9, 10]
    )
    assert.deepStrictEqual(sites[2]?.chunks, ["AND id < ", ""])
    assert.deepStrictEqual(sites[5]?.insertions, ["sql(table)", "state", "sql(key)", "id"])
  })

  it("tells pieces from statements", () => {
    assert.deepStrictEqual(
      sites.filter((site) => !isStatementSite(site)).map(({ chunks }) => chunks.join("$")),
      ["", "AND id < $", "FROM run_usage u WHERE $"]
    )
  })
})

describe("siteOfStatement", () => {
  it("finds a statement with and without its piece", () => {
    assert.strictEqual(lineOf("SELECT id FROM runs\n WHERE project_id = $1 AND id < $2 ORDER BY id"), 2)
    assert.strictEqual(lineOf("SELECT id FROM runs WHERE project_id = $1  ORDER BY id"), 2)
  })

  it("accepts only what a helper of the SQL client inserts", () => {
    assert.strictEqual(lineOf(`UPDATE "cards" SET state = $1 WHERE "id" = $2`), 7)
    assert.isUndefined(lineOf("UPDATE cards SET state = $1 WHERE id = $2"))
    assert.strictEqual(lineOf(`INSERT INTO tasks ("id","state") VALUES ($1,$2),($3,$4)`), 8)
    assert.isUndefined(lineOf("INSERT INTO tasks SELECT * FROM tasks"))
    assert.isUndefined(lineOf(`INSERT INTO tasks ("id") VALUES ($1); DELETE FROM tasks`))
  })

  it("finds a template without words by a piece of its file", () => {
    assert.strictEqual(lineOf("SELECT count(*) FROM run_usage u WHERE u.day = $1"), 6)
    assert.isUndefined(lineOf("SELECT count(*) FROM audit"))
  })

  it("takes a text with an id for one of a test", () => {
    assert.strictEqual(lineOf("SELECT 1 FROM runs"), 9)
    assert.isUndefined(lineOf("SELECT 'run_01M8MDWT1264J67ZSFG02XC94C' FROM runs"))
  })

  it("prefers the template with more words", () => {
    assert.strictEqual(lineOf("SELECT id FROM runs WHERE state = 'queued'"), 10)
    assert.strictEqual(lineOf("SELECT id FROM runs"), 9)
  })
})

describe("matches", () => {
  const [, , piece] = sites

  it("finds a piece within a text", () => {
    assert.isTrue(piece !== undefined && matches(piece, "SELECT 1 WHERE true AND id < $1 LIMIT 1", false))
    assert.isFalse(piece !== undefined && matches(piece, "SELECT 1 WHERE true AND id > $1", false))
  })
})
