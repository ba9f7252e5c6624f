/**
 * The steps from an empty database to today's, each taken once. A step that was released is never changed: the next one follows it.
 *
 * One transaction and one lock for all that is missing: of several Hubs that start at once, one takes the steps and the others find them
 * taken.
 */
import { Effect } from "effect"
import { Migrator, SqlClient } from "effect/sql"
import { people } from "./migrations/0001-people.ts"
import { projects } from "./migrations/0002-projects.ts"
import { records } from "./migrations/0003-records.ts"
import { devicesAndSessions } from "./migrations/0005-devices-and-sessions.ts"
import { signIn } from "./migrations/0004-sign-in.ts"
import { runs } from "./migrations/0006-runs.ts"
import { link } from "./migrations/0007-link.ts"
import { policies } from "./migrations/0008-policies.ts"
import { chat } from "./migrations/0009-chat.ts"
import { traces } from "./migrations/0010-traces.ts"
import { signIns } from "./migrations/0011-sign-ins.ts"
import { commands } from "./migrations/0012-commands.ts"
import { decisions } from "./migrations/0013-decisions.ts"
import { signInTime } from "./migrations/0014-sign-in-time.ts"
import { deviceShares } from "./migrations/0015-device-shares.ts"
import { auditReaders } from "./migrations/0016-audit-readers.ts"
import { runRequesters } from "./migrations/0017-run-requesters.ts"
import { sentCommands } from "./migrations/0018-sent-commands.ts"

const steps: Readonly<Record<string, ReadonlyArray<string>>> = {
  "0001_people": people,
  "0002_projects": projects,
  "0003_records": records,
  "0004_sign_in": signIn,
  "0005_devices_and_sessions": devicesAndSessions,
  "0006_runs": runs,
  "0007_link": link,
  "0008_policies": policies,
  "0009_chat": chat,
  "0010_traces": traces,
  "0011_sign_ins": signIns,
  "0012_commands": commands,
  "0013_decisions": decisions,
  "0014_sign_in_time": signInTime,
  "0015_device_shares": deviceShares,
  "0016_audit_readers": auditReaders,
  "0017_run_requesters": runRequesters,
  "0018_sent_commands": sentCommands
}

const take = (statements: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    for (const statement of statements) yield* sql.unsafe(statement)
  })

export const migrate = Migrator.make({})({
  loader: Migrator.fromRecord(
    Object.fromEntries(Object.entries(steps).map(([name, step]) => [name, take(step)]))
  ),
  table: "corral_migrations"
})
