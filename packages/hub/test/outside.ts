/**
 * `npm run test:outside`: the Hub's contract and live suites on a PostgreSQL that is not its own, as an operator would run one: on a port,
 * with a password, a database for each Hub.
 */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { startPostgres } from "./harness/PostgresServer.ts"

const given = process.argv.slice(2)
const server = await startPostgres()
const vitest = spawn("vitest", ["run", ...(given.length > 0 ? given : ["packages/hub/test"])], {
  stdio: "inherit",
  env: { ...process.env, CORRAL_TEST_DATABASE_URL: server.url }
})
const [code] = await once(vitest, "exit")
await server.stop()
process.exitCode = typeof code === "number" ? code : 1
