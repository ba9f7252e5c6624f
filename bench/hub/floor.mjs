/**
 * The floor: what a bare-Node program pays for a page of a list behind a sign-in, and for a socket that is held. The same queries on the
 * same server through `pg`, without a framework, without schemas, cursors, audit, limits or a contract.
 *
 * Environment: BENCH_SOCKETS (folder of the database's socket).
 */
import { createHash } from "node:crypto"
import { createServer } from "node:http"
import { Pool } from "pg"
import { WebSocketServer } from "ws"

const pool = new Pool({ host: process.env.BENCH_SOCKETS, user: "corral", database: "postgres", max: 20 })

const signIn = async (request) => {
  const token = request.headers.authorization?.slice("Bearer ".length) ?? ""
  const { rows } = await pool.query({
    name: "sign-in",
    text: `SELECT user_id FROM sign_ins WHERE token_hash = $1 AND revoked_at IS NULL AND idle_until > now() AND cap_at > now()`,
    values: [createHash("sha256").update(token).digest()]
  })
  return rows[0]?.user_id
}

const page = async (userId, projectId, limit, at, id) => {
  const role = await pool.query({
    name: "role",
    text: `SELECT role FROM project_members WHERE project_id = $1 AND user_id = $2`,
    values: [projectId, userId]
  })
  if (role.rows.length === 0) return undefined
  const after = at === null ? "" : "AND (updated_at, id) < ($3, $4)"
  const { rows } = await pool.query({
    name: at === null ? "first" : "deep",
    text: `SELECT id, project_id, title, state, updated_at FROM sessions WHERE project_id = $1 ${after}
           ORDER BY updated_at DESC, id DESC LIMIT $2`,
    values: at === null ? [projectId, limit] : [projectId, limit, at, id]
  })
  return rows.map((row) => ({
    id: row.id,
    projectId: row.project_id,
    title: row.title,
    state: row.state,
    updatedAt: row.updated_at.toISOString()
  }))
}

const readable = `project_id = ANY (ARRAY(
  SELECT project_id FROM project_members WHERE user_id = $1 UNION SELECT id FROM projects WHERE visibility = 'internal'))`
const found = "id, kind, project_id, session_id, message_id, run_id, at, text"

/** The statements of the Hub's search. */
const search = async (userId, words, grams, limit) => {
  const contains = (first) => words.map((_, i) => `position($${first + i} IN folded) > 0`).join(" AND ")
  const latest = await pool.query(
    `SELECT ${found} FROM (SELECT * FROM search_documents ORDER BY at DESC, id DESC LIMIT 2000) AS latest
     WHERE ${readable} AND ${contains(2)} ORDER BY at DESC, id DESC LIMIT ${limit}`,
    [userId, ...words]
  )
  if (latest.rows.length === limit) return latest.rows
  const indexed = await pool.query(
    `WITH found AS MATERIALIZED (SELECT id, at FROM search_documents WHERE grams @> $2::integer[] AND ${readable})
     SELECT ${found} FROM (SELECT id AS key, at AS time FROM found ORDER BY at DESC, id DESC OFFSET 0) AS sorted
     CROSS JOIN LATERAL (SELECT ${found} FROM search_documents WHERE id = sorted.key AND ${contains(3)}) AS document
     ORDER BY sorted.time DESC, sorted.key DESC LIMIT ${limit}`,
    [userId, grams, ...words]
  )
  return indexed.rows
}

const answer = (response, status, body) => {
  response.writeHead(status, { "content-type": "application/json" })
  response.end(JSON.stringify(body))
}

const server = createServer(async (request, response) => {
  try {
    const userId = await signIn(request)
    if (userId === undefined) return answer(response, 401, {})
    const { pathname, searchParams: query } = new URL(request.url, "http://floor")
    if (pathname === "/client/auth/me") {
      const { rows } = await pool.query({
        name: "user",
        text: "SELECT id, name, email, created_at FROM users WHERE id = $1",
        values: [userId]
      })
      return answer(response, 200, { user: rows[0] })
    }
    if (pathname === "/client/search") {
      const [words, grams] = [JSON.parse(query.get("words")), JSON.parse(query.get("grams"))]
      return answer(response, 200, { items: await search(userId, words, grams, Number(query.get("limit"))) })
    }
    const items = await page(
      userId,
      query.get("projectId"),
      query.get("limit"),
      query.get("at"),
      query.get("id")
    )
    return items === undefined ? answer(response, 403, {}) : answer(response, 200, { items })
  } catch (error) {
    process.stderr.write(`${error.stack}\n`)
    answer(response, 500, {})
  }
})
const sockets = new WebSocketServer({ noServer: true, clientTracking: false, perMessageDeflate: false })
server.on("upgrade", (request, socket, head) => {
  void signIn(request).then((userId) =>
    userId === undefined ? socket.destroy() : sockets.handleUpgrade(request, socket, head, () => undefined)
  )
})
server.listen(0, "127.0.0.1", () => {
  process.stdout.write(`${JSON.stringify({ url: `http://127.0.0.1:${server.address().port}` })}\n`)
})
