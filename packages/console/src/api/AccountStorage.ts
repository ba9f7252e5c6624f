/**
 * What this browser stores for the signed-in account: drafts, reviews, pins, notifications.
 *
 * Guarantees: no account reads what another has stored. A sign-out deletes it, and so does the sign-in of another account. After that, a page
 * of the earlier account stores nothing more. Does not: delete settings of the browser, such as the theme; what contains no text and no names
 * and has the account in its key, such as pins; or what an account stored whose sign-in has expired, until another account signs in.
 */

export type AccountArea = Pick<Storage, "getItem" | "key" | "length" | "removeItem" | "setItem">

interface BrowserStorage {
  readonly localStorage: AccountArea
  readonly sessionStorage: Pick<Storage, "clear">
}

/** Id of the account that the storage belongs to. */
export const ACCOUNT_KEY = "corral.account"

/** Settings of the browser, for all accounts. */
const ofBrowser: ReadonlySet<string> = new Set(["corral.language", "corral.sidebar", "corral.theme"])

/** Beginnings of keys that end with the id of an account and have no text of people: they are there at the next sign-in. */
const ofAccounts: ReadonlyArray<string> = ["corral.pins.", "corral.visit."]

const isDeleted = (key: string): boolean =>
  key.startsWith("corral.") && !ofBrowser.has(key) && !ofAccounts.some((begin) => key.startsWith(begin))

export class AccountStorage implements AccountArea {
  private readonly browser: () => BrowserStorage
  /** Account of this page. */
  private account: string | undefined

  constructor(browser: () => BrowserStorage) {
    this.browser = browser
  }

  /** Opens the storage for an account. Returns whether the page can continue: it can't after another account had it. */
  claim(userId: string): boolean {
    const earlier = this.account
    if (this.local.getItem(ACCOUNT_KEY) !== userId) {
      this.deleteAll()
      try {
        this.local.setItem(ACCOUNT_KEY, userId)
      } catch {
        // The storage is full or not allowed: the page stores nothing.
      }
    }
    this.account = userId
    return earlier === undefined || earlier === userId
  }

  /** Deletes what the account has stored. */
  release(): void {
    this.account = undefined
    this.local.removeItem(ACCOUNT_KEY)
    this.deleteAll()
  }

  /** Whether the page shows an account that no longer has the storage. */
  get isLost(): boolean {
    return this.account !== undefined && !this.isOpen
  }

  get length(): number {
    return this.isOpen ? this.local.length : 0
  }
  key(index: number): string | null {
    return this.isOpen ? this.local.key(index) : null
  }
  getItem(key: string): string | null {
    return this.isOpen ? this.local.getItem(key) : null
  }
  setItem(key: string, value: string): void {
    if (this.isOpen) this.local.setItem(key, value)
  }
  removeItem(key: string): void {
    if (this.isOpen) this.local.removeItem(key)
  }

  private get local(): AccountArea {
    return this.browser().localStorage
  }

  private get isOpen(): boolean {
    return this.account !== undefined && this.local.getItem(ACCOUNT_KEY) === this.account
  }

  private deleteAll(): void {
    const keys = Array.from({ length: this.local.length }, (_, index) => this.local.key(index) ?? "")
    for (const key of keys) if (isDeleted(key)) this.local.removeItem(key)
    this.browser().sessionStorage.clear()
  }
}

export const accountStorage = new AccountStorage(() => globalThis)

/** Loads the page again once another tab has signed out, or signed in as another account. */
export const followAccount = (): void =>
  addEventListener("storage", ({ key }) => {
    if ((key === null || key === ACCOUNT_KEY) && accountStorage.isLost) location.reload()
  })
