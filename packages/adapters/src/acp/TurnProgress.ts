/** Progress of one turn of an agent, from which its outcome and a stop after a denial are read. Reports of sub-agents do not change it. */
export class TurnProgress {
  /** Why the turn failed, after the agent has reported that it did. May be empty. */
  failure: string | undefined
  #hasCalled = false
  #hasAnswered = false
  #stoppedAtDenial = false

  /** Whether a tool call came before the last message. */
  get hasCalled(): boolean {
    return this.#hasCalled
  }

  /** Whether the model's text came last. */
  get hasAnswered(): boolean {
    return this.#hasAnswered
  }

  /** Whether the agent has sent neither text nor a tool call since a permission was denied. */
  get stoppedAtDenial(): boolean {
    return this.#stoppedAtDenial
  }

  begin(): void {
    this.failure = undefined
    this.#hasCalled = false
    this.#hasAnswered = false
    this.#stoppedAtDenial = false
  }

  /** The agent calls a tool, or reports a call again. */
  call(): void {
    this.#hasCalled = true
    this.#hasAnswered = false
  }

  /** The model writes text. */
  write(): void {
    this.#hasAnswered = true
  }

  /** A permission was denied. */
  deny(): void {
    this.#stoppedAtDenial = true
  }

  /** The agent continues after a denial. */
  proceed(): void {
    this.#stoppedAtDenial = false
  }
}
