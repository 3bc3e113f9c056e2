// The same classes as for require(): a program that uses both has one FenceholdError, not two.
import fencehold from './index.js'

export const {
  Client,
  Lock,
  FenceholdError,
  HeldError,
  TimedOutError,
  LostError,
  NotHeldError,
  CancelledError,
  UnreachableError,
  InDoubtError,
  InvalidError,
  UnauthorizedError,
  ForbiddenError,
  RateLimitedError,
  UnsupportedError,
  StoreError,
  ForkedError,
  InternalError
} = fencehold
