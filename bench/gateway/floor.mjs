/**
 * The floor of a Gateway: a bare-Node program that writes one row a request into the same PostgreSQL and then answers 200. It verifies
 * nothing, decrypts nothing, knows no event again, and nobody's turn comes of it.
 *
 * Environment: BENCH_DATABASE.
 */
import { createServer } from "node:http"
import { Pool } from "pg"

const pool = new Pool({ connectionString: process.env.BENCH_DATABASE, max: 20 })
await pool.query("CREATE TABLE floor_inbox (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, body text)")

const server = createServer(async (request, response) => {
  const chunks = []
  for await (const chunk of request) chunks.push(chunk)
  await pool.query({
    name: "keep",
    text: "INSERT INTO floor_inbox (body) VALUES ($1)",
    values: [Buffer.concat(chunks).toString()]
  })
  response.writeHead(200, { "content-type": "application/json" }).end("{}")
})
server.listen({ port: 0, host: "127.0.0.1", backlog: 4_096 }, () =>
  console.log(JSON.stringify({ url: `http://127.0.0.1:${server.address().port}` }))
)
process.once("SIGTERM", () => process.exit(0))
