/** Device file of a running Edge: its content, and changes by other programs. */
import { Effect } from "effect"
import { type DeviceFile, type DeviceFileUnusable, readDevice, stampOf, writeDevice } from "./DeviceKey.ts"

export class DeviceFileWatch {
  readonly file: string
  /** Device of the last successful `load` or `save`. */
  device: DeviceFile | undefined
  private readonly lookMs: number
  /** Stamp of the file at the last `load` or `save`. */
  private stamp = ""
  private isWriting = false

  constructor(file: string, lookMs: number) {
    this.file = file
    this.lookMs = lookMs
  }

  readonly load: Effect.Effect<DeviceFile | undefined, DeviceFileUnusable> = Effect.suspend(() => {
    this.stamp = stampOf(this.file)
    this.device = undefined
    return Effect.tap(readDevice(this.file), (device) => Effect.sync(() => (this.device = device)))
  })

  save(device: DeviceFile): Effect.Effect<void, DeviceFileUnusable> {
    return Effect.suspend(() => {
      this.isWriting = true
      return Effect.map(writeDevice(this.file, device), () => {
        this.device = device
        this.stamp = stampOf(this.file)
      })
    }).pipe(Effect.ensuring(Effect.sync(() => (this.isWriting = false))))
  }

  /** Succeeds when another program has written the file. */
  readonly changed: Effect.Effect<void> = Effect.suspend(() =>
    this.isWriting || stampOf(this.file) === this.stamp
      ? Effect.andThen(Effect.sleep(this.lookMs), this.changed)
      : Effect.void
  )
}
