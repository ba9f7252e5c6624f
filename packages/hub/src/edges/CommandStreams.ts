/**
 * Streams of commands of the links that this process holds, by device. A command that is requested here can then be stored as sent, and needs no claim.
 */
import type { DeviceId } from "@corral/domain/identity/Ids"
import type { EdgeCommand } from "@corral/domain/link/EdgeCommand"
import { Effect, type Scope } from "effect"
import type { DeviceLink } from "../device/DeviceLink.ts"

export interface CommandStream {
  readonly link: DeviceLink
  /** Whether the stream sends commands immediately: it claims none now, and has room. */
  readonly isIdle: () => boolean
  /** Sends a command that is stored as sent over the link. A stream that has ended leaves it to the next link. */
  readonly offer: (command: EdgeCommand) => void
}

export class CommandStreams {
  private readonly streams = new Map<DeviceId, CommandStream>()

  /** Registers the stream until the scope closes. */
  register(stream: CommandStream): Effect.Effect<void, never, Scope.Scope> {
    const { deviceId, generation } = stream.link
    return Effect.asVoid(
      Effect.acquireRelease(
        Effect.sync(() => {
          const registered = this.streams.get(deviceId)
          if (registered === undefined || registered.link.generation <= generation)
            this.streams.set(deviceId, stream)
        }),
        () =>
          Effect.sync(() => {
            if (this.streams.get(deviceId) === stream) this.streams.delete(deviceId)
          })
      )
    )
  }

  /** The idle stream of the device, if this process has one. */
  idleOf(deviceId: DeviceId): CommandStream | undefined {
    const stream = this.streams.get(deviceId)
    return stream?.isIdle() === true ? stream : undefined
  }
}
