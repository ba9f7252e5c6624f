/** Server on a unix socket, or on a port of this machine. */
import { Effect, type Scope } from "effect"
import type { ListenOptions, Server } from "node:net"

/** Listens until the scope closes. Fails with the system's message. */
export const listening = (
  server: Server,
  at: string | ListenOptions
): Effect.Effect<void, string, Scope.Scope> =>
  Effect.asVoid(
    Effect.acquireRelease(
      Effect.callback<Server, string>((resume) => {
        server.once("error", (error) => resume(Effect.fail(String(error))))
        server.listen(typeof at === "string" ? { path: at } : at, () => resume(Effect.succeed(server)))
      }),
      (started) =>
        Effect.sync(() => {
          started.close()
          if ("closeAllConnections" in started && typeof started.closeAllConnections === "function")
            started.closeAllConnections()
        })
    )
  )
