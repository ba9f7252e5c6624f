/** Editors of users of a Hub, each with a home that has the user's sign-in. */
import { type HubClient, storeSignIn } from "@corral/testing/hub/HubClient"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { TestEditor } from "../acp/TestEditor.ts"

export class EditorHomes {
  private readonly folders: Array<string> = []

  /** A home with the sign-in of this user. `token`: instead of the sign-in. */
  signedIn(client: HubClient, token = client.token): string {
    const home = mkdtempSync(join(tmpdir(), "corral-editor-"))
    this.folders.push(home)
    storeSignIn(home, client, token)
    return home
  }

  /** An editor of this user. */
  async open(client: HubClient, token = client.token): Promise<TestEditor> {
    const home = this.signedIn(client, token)
    const capabilities = { elicitation: { form: {} } }
    return TestEditor.open({ home, service: "Hub", capabilities })
  }

  remove(): void {
    for (const folder of this.folders) rmSync(folder, { recursive: true, force: true })
  }
}
