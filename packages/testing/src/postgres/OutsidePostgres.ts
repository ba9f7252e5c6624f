/** External PostgreSQL for one test. */
import { onTestFinished } from "@effect/vitest"
import { type PostgresServer, startPostgres } from "./PostgresServer.ts"

export { query } from "./PostgresServer.ts"

export const openPostgres = async (): Promise<PostgresServer> => {
  const server = await startPostgres()
  onTestFinished(server.stop)
  return server
}
