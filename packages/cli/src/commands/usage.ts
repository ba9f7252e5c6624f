/** `corral usage`: tokens and cost of runs at a Hub, as a table, as JSON or as CSV, with the limits of a project. */
import type { ProjectId } from "@corral/domain/identity/Ids"
import { Day } from "@corral/domain/usage/Day"
import { UsageGrouping } from "@corral/domain/usage/UsageReport"
import { Effect, Option, Stream } from "effect"
import { Command, Flag } from "effect/cli"
import { refused } from "../CommandFailed.ts"
import { hubFlag, jsonObject, toggle } from "../Flags.ts"
import { type HubApiClient, connectToSignedInHub } from "../hub/HubClient.ts"
import { findProject } from "../run/HubRunServer.ts"
import { makePaint, paintRow, type Row } from "../terminal/Rows.ts"
import { Host } from "../terminal/Host.ts"

const flags = {
  ...hubFlag,
  by: Flag.String("by").pipe(
    Flag.withDescription("Sum by day, person, project, agent and model: one, or several with commas"),
    Flag.withSchema(UsageGrouping),
    Flag.withDefault("day")
  ),
  project: Flag.String("project").pipe(
    Flag.withAlias("p"),
    Flag.withDescription("Only this project, by id or name, and its limits. Default: all your projects"),
    Flag.optional
  ),
  from: Flag.String("from").pipe(
    Flag.withDescription("First day, such as 2026-11-01. Default: 30 days ago"),
    Flag.withSchema(Day),
    Flag.optional
  ),
  to: Flag.String("to").pipe(
    Flag.withDescription("Last day. Default: today"),
    Flag.withSchema(Day),
    Flag.optional
  ),
  csv: toggle("csv", "Print CSV with a header line"),
  json: jsonObject
}

interface Choice {
  readonly by: string
  readonly from: Option.Option<string>
  readonly to: Option.Option<string>
}

type Query = NonNullable<Parameters<HubApiClient["usage"]["report"]>[0]>["query"]

const queryOf = ({ by, from, to }: Choice, projectId: ProjectId | undefined): NonNullable<Query> => ({
  by,
  ...Option.match(from, { onNone: () => ({}), onSome: (day) => ({ from: day }) }),
  ...Option.match(to, { onNone: () => ({}), onSome: (day) => ({ to: day }) }),
  ...(projectId === undefined ? {} : { projectId })
})

const printCsv = Effect.fnUntraced(function* (calls: HubApiClient, query: NonNullable<Query>) {
  const host = yield* Host
  const bytes = yield* calls.usage.csv({ query })
  yield* bytes.pipe(
    Stream.decodeText(),
    Stream.mapError(() => refused("The download was interrupted. Try again.")),
    Stream.runForEach((text) => Effect.sync(() => host.write(text)))
  )
})

const printTable = Effect.fnUntraced(function* (calls: HubApiClient, query: NonNullable<Query>) {
  const host = yield* Host
  const { limitRows, usageTable } = yield* Effect.promise(() => import("../show/UsageTable.ts"))
  const paint = makePaint(host.colours)
  const print = (rows: ReadonlyArray<Row>) => {
    for (const row of rows) host.write(`${paintRow(row, paint).trimEnd()}\n`)
  }
  const report = yield* calls.usage.report({ query })
  if (report.rows.length === 0) host.write(`No runs from ${report.from} to ${report.to}.\n`)
  else print(usageTable(report))
  if (query.projectId === undefined) return
  print(limitRows(yield* calls.usage.limits({ params: { id: query.projectId } })))
})

export const usageCommand = Command.make(
  "usage",
  flags,
  Effect.fn(function* ({ csv, hub, json, project, ...choice }) {
    if (csv && json) return yield* refused("Choose --csv or --json.")
    const host = yield* Host
    const { calls } = yield* connectToSignedInHub(hub)
    const found = Option.isSome(project) ? yield* findProject(calls, project) : undefined
    const query = queryOf(choice, found?.id)
    if (csv) return yield* printCsv(calls, query)
    if (!json) return yield* printTable(calls, query)
    host.write(`${JSON.stringify(yield* calls.usage.report({ query }))}\n`)
  })
).pipe(Command.withDescription("Tokens and cost of runs at the Hub"))
