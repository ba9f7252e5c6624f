/** Server on a unix socket. */
import { Effect, type Scope } from "effect"
import type { Server } from "node:net"

/** Listens until the scope closes. Fails with the system's message. */
export const listening = (server: Server, path: string): Effect.Effect<void, string, Scope.Scope> =>
  Effect.asVoid(
    Effect.acquireRelease(
      Effect.callback<Server, string>((resume) => {
        server.once("error", (error) => resume(Effect.fail(String(error))))
        server.listen(path, () => resume(Effect.succeed(server)))
      }),
      (started) =>
        Effect.sync(() => {
          started.close()
          if ("closeAllConnections" in started && typeof started.closeAllConnections === "function")
            started.closeAllConnections()
        })
    )
  )
