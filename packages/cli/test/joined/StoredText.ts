/** Search for texts in everything that services have stored: the tables of a Hub and the files of homes. */
import type { HubProcess } from "@corral/testing/hub/HubProcess"
import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"

const Names = Schema.Array(Schema.Struct({ name: Schema.String }))
const Rows = Schema.Array(Schema.Struct({ row: Schema.String }))

/** Tables with a row that contains one of the texts, with that row. */
export const tablesWith = (hub: HubProcess, texts: ReadonlyArray<string>): Promise<ReadonlyArray<string>> =>
  hub.people.act(
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const tables = yield* Effect.orDie(
        Schema.decodeUnknownEffect(Names)(
          yield* sql`SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema() ORDER BY 1`
        )
      )
      const found: Array<string> = []
      for (const { name } of tables) {
        const rows = yield* Effect.orDie(
          Schema.decodeUnknownEffect(Rows)(yield* sql`SELECT t::text AS row FROM ${sql(name)} AS t`)
        )
        for (const { row } of rows)
          if (texts.some((text) => row.includes(text))) found.push(`${name}: ${row.slice(0, 200)}`)
      }
      return found
    })
  )

const filesIn = (folder: string): ReadonlyArray<string> =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))

/** Files below the folders that contain one of the texts. */
export const filesWith = (
  folders: ReadonlyArray<string>,
  texts: ReadonlyArray<string>
): ReadonlyArray<string> =>
  folders.flatMap(filesIn).filter((file) => {
    const bytes = readFileSync(file)
    return texts.some((text) => bytes.includes(text))
  })
