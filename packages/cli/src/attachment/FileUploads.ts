/**
 * Uploads of files to a Hub, for messages.
 *
 * Guarantees: a file is uploaded once, also if its message is sent again.
 */
import { HubEffects } from "@corral/client/effect/HubEffects"
import type { AttachmentId } from "@corral/domain/identity/Ids"
import { Effect } from "effect"
import type { CommandFailed } from "../CommandFailed.ts"
import { hubFailure, hubUnreachable } from "../hub/HubRefusal.ts"
import type { StoredSignIn } from "../hub/SignInFile.ts"
import type { LocalFile } from "./LocalFile.ts"

export class FileUploads {
  private readonly signIn: StoredSignIn
  private readonly uploaded = new WeakMap<LocalFile, AttachmentId>()

  constructor(signIn: StoredSignIn) {
    this.signIn = signIn
  }

  /** Ids for the message, in the order of the files. */
  idsOf(files: ReadonlyArray<LocalFile>): Effect.Effect<ReadonlyArray<AttachmentId>, CommandFailed> {
    return Effect.forEach(files, (file) => this.idOf(file))
  }

  private idOf(file: LocalFile): Effect.Effect<AttachmentId, CommandFailed> {
    const { hub: url, token } = this.signIn
    const { content: payload, name } = file
    return Effect.gen({ self: this }, function* () {
      const earlier = this.uploaded.get(file)
      if (earlier !== undefined) return earlier
      const { uploads } = yield* HubEffects.make({ url, token })
      const { id } = yield* uploads.create({ query: { name }, payload })
      this.uploaded.set(file, id)
      return id
    }).pipe(Effect.mapError(({ error }) => hubFailure(error, hubUnreachable(url), url)))
  }
}
