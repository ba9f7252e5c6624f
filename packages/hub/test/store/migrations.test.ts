/** A Hub of the previous release works on the database of the next one: what it reads and writes is still there. */
import { assert, describe, it } from "@effect/vitest"
import { migrations } from "../../src/store/migrations.ts"

/** The last migration of 0.2.0. */
const LAST_RELEASED = "0022"

/** What breaks statements of an earlier release, and why. */
const breaking: ReadonlyArray<readonly [RegExp, string]> = [
  [/\bDROP (TABLE|COLUMN|FUNCTION|PROCEDURE|TRIGGER|CONSTRAINT)\b/i, "removes what an older Hub may use"],
  [/\bRENAME\b/i, "renames what an older Hub may use"],
  [
    /\bALTER COLUMN \w+ (TYPE|SET DATA TYPE|SET NOT NULL|DROP DEFAULT)\b/i,
    "changes a column that an older Hub writes"
  ],
  [
    /\bADD COLUMN (?:(?!DEFAULT|,).)*NOT NULL(?!.*DEFAULT)/i,
    "adds a column that an older Hub does not write"
  ],
  [/\bADD (CONSTRAINT \w+ )?(CHECK|UNIQUE|EXCLUDE)\b/i, "refuses rows that an older Hub writes"]
]

/** By migration and statement, why it breaks nothing. */
const harmless: ReadonlyArray<readonly [string, RegExp, string]> = [
  ["0027_partitions", /run_events_before/, "another table takes the name, with the same columns and key"]
]

const findings = (all: Readonly<Record<string, ReadonlyArray<string>>>): ReadonlyArray<string> =>
  Object.entries(all)
    .filter(([name]) => name.slice(0, 4) > LAST_RELEASED)
    .flatMap(([name, statements]) =>
      statements
        .filter((statement) => !harmless.some(([other, what]) => other === name && what.test(statement)))
        .flatMap((statement) =>
          breaking.flatMap(([pattern, why]) =>
            pattern.test(statement) ? [`${name}: ${why}: ${statement}`] : []
          )
        )
    )

describe("Migrations after the last release", () => {
  it("only add", () => {
    assert.deepStrictEqual(findings(migrations), [])
  })

  it.each([
    "DROP TABLE tasks",
    "ALTER TABLE runs DROP COLUMN state",
    "ALTER TABLE runs RENAME COLUMN state TO status",
    "ALTER TABLE runs ALTER COLUMN state SET NOT NULL",
    "ALTER TABLE runs ALTER COLUMN last_seq TYPE bigint",
    "ALTER TABLE runs ADD COLUMN place text NOT NULL",
    "ALTER TABLE runs ADD CONSTRAINT once UNIQUE (id)",
    "ALTER TABLE runs ADD CHECK (last_seq > 0)",
    "DROP FUNCTION corral_first_run_id"
  ])("would be found if one did: %s", (statement) => {
    assert.lengthOf(findings({ "9999_later": [statement] }), 1)
  })

  it.each([
    "ALTER TABLE runs ADD COLUMN place text",
    "ALTER TABLE runs ADD COLUMN place text NOT NULL DEFAULT ''",
    "CREATE INDEX runs_of_place ON runs (place)",
    "DROP INDEX runs_of_place"
  ])("may say: %s", (statement) => {
    assert.deepStrictEqual(findings({ "9999_later": [statement] }), [])
  })
})
