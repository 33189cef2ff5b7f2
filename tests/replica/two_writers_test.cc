// Two machines that write to one bucket, in the orders in which their operations on it can happen.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <thread>

#include "fake_image.h"
#include "support/memory_bucket.h"
#include "support/sanitized.h"

namespace dedupfs {
namespace {

// Lets two threads do their operations in an order that is chosen before. Where the order ends, or the one whose turn it is has ended,
// the other goes on.
class Turns {
 public:
  explicit Turns(std::vector<int> order) : order_(std::move(order)) {}

  void wait(int who) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return may(who); });
  }
  void done(int who) {
    const std::lock_guard lock(mutex_);
    if (next_ < order_.size() && order_[next_] == who) ++next_;
    skip_ended();
    changed_.notify_all();
  }
  void ended(int who) {
    const std::lock_guard lock(mutex_);
    ended_[who] = true;
    skip_ended();
    changed_.notify_all();
  }

 private:
  bool may(int who) const {
    if (next_ < order_.size()) return order_[next_] == who;
    return who == 0 || ended_[0];
  }
  void skip_ended() {
    while (next_ < order_.size() && ended_[order_[next_]]) ++next_;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  const std::vector<int> order_;
  std::size_t next_ = 0;
  bool ended_[2] = {false, false};
};

class TwoWriters : public testing::Test {
 protected:
  static Files state(const std::string& who, int number) {
    return {
        {"containers/0000000001.container", "common"},
        {"containers/000000000" + std::string(who == "a" ? "2" : "3") + ".container", who},  // no number is used twice
        {"index/000001.log", std::string(static_cast<std::size_t>(number + 1), 'x') + who},
        {"index/" + who + std::to_string(number) + ".sst", who + std::to_string(number)},
        {"superblock.json", "{}"}};
  }

  // Does `first` and `second` from the same beginning in all orders in which the turn changes four times at most: the first does some
  // operations, then the second some, the first some, the second the rest, and the first the rest.
  void in_all_orders(
      const std::function<void(Writer&)>& first, const std::function<void(Writer&)>& second,
      const std::function<void()>& begin = [] {}, const std::function<void()>& end = [] {}) {
    constexpr int kMostOfFirst = 9;
    constexpr int kMostOfSecond = 14;
    constexpr int kMostAgain = 5;
    constexpr int kEach = kSanitized ? 11 : 1;  // of the orders
    int orders = 0;
    for (int i = 0; i < kMostOfFirst; ++i)
      for (int j = 1; j < kMostOfSecond; ++j)
        for (int k = 1; k < kMostAgain; ++k) {
          if (orders++ % kEach != 0) continue;
          std::vector<int> order(static_cast<std::size_t>(i), 0);
          order.insert(order.end(), static_cast<std::size_t>(j), 1);
          order.insert(order.end(), static_cast<std::size_t>(k), 0);
          order.insert(order.end(), 100, 1);
          begin();
          run(order, first, second);
          end();
          if (!HasFailure()) continue;
          ADD_FAILURE() << "in the order " << i << ", " << j << ", " << k;
          return;
        }
  }

  void run(const std::vector<int>& order, const std::function<void(Writer&)>& first,
           const std::function<void(Writer&)>& second) {
    const auto objects = std::make_shared<MemoryObjects>();
    MemoryBucket beginning(objects);
    Writer before(beginning);
    ASSERT_TRUE(before.attach());
    ASSERT_TRUE(before.ship(state("a", 0)));
    Files dropped = state("a", 1);
    before.seconds += 10;
    ASSERT_TRUE(before.ship(dropped));  // so that there is something to delete
    const RemotePosition position = before.shipper().position();

    Turns turns(order);
    MemoryBucket buckets[] = {MemoryBucket(objects, "memory://first"), MemoryBucket(objects, "memory://second")};
    std::map<std::string, std::set<std::string>> heads;  // what each name has had
    std::mutex heads_mutex;
    for (int who : {0, 1})
      buckets[who].set_hook([&, who](const MemoryBucket::Call& call, MemoryBucket::When when) {
        if (when == MemoryBucket::When::kBefore) {
          turns.wait(who);
          return;
        }
        if (call.object.starts_with(kHeadPrefix)) {
          const std::lock_guard lock(heads_mutex);
          const auto image = objects->image();
          if (const auto there = image.find(call.object); there != image.end())
            heads[call.object].insert(*there->second.bytes);
        }
        expect_whole(*objects);
        turns.done(who);
      });
    const auto work = [&](int who, const std::function<void(Writer&)>& history) {
      Writer writer(buckets[who], position);
      writer.seconds = before.seconds + 1000;
      history(writer);
      turns.ended(who);
    };
    std::thread one([&] { work(0, first); });
    std::thread other([&] { work(1, second); });
    one.join();
    other.join();
    for (const auto& [name, contents] : heads) EXPECT_EQ(contents.size(), 1u) << name << " was replaced";
  }

  // What the bucket gives at this moment. Between two operations on it, so nobody changes it meanwhile.
  static void expect_whole(MemoryObjects& objects) {
    MemoryBucket now(std::make_shared<MemoryObjects>(objects.image()));
    const auto files = files_in(now);
    ASSERT_TRUE(files) << files.error().message();
    ASSERT_TRUE(files->has_value());
    // Whole states of one of the two, never a mixture.
    const std::string who = files->value().contains("containers/0000000002.container") ? "a" : "b";
    bool is_state = false;
    for (int number = 0; number < 5; ++number) is_state = is_state || files->value() == state(who, number);
    EXPECT_TRUE(is_state);
  }
};

void collect_all(Writer& writer) {
  (void)writer.shipper().collect(std::chrono::seconds(5));
}

TEST_F(TwoWriters, OneTakesOverWhileTheOtherShips) {
  in_all_orders(
      [](Writer& writer) {
        (void)writer.ship(state("a", 2));
        collect_all(writer);
      },
      [](Writer& writer) {
        if (!writer.take_over()) return;
        (void)writer.ship(state("b", 2));
        collect_all(writer);
      });
}

// The other one puts head after head, and no clone is at the newest one.
TEST_F(TwoWriters, OneClaimsTheBucketWhateverTheOtherShips) {
  std::atomic<int> acknowledged = 0;  // the number of the last state for which ship() returned
  std::optional<Files> claimed;
  in_all_orders(
      [&](Writer& writer) {
        for (int number = 2; number < 5; ++number) {
          if (!writer.ship(state("a", number))) return;
          acknowledged = number;
          if (number == 3) collect_all(writer);
        }
      },
      [&](Writer& writer) {
        const auto claim = writer.claim();
        ASSERT_TRUE(claim) << claim.error().message();
        const auto there = files_of(writer.bucket, *claim);
        ASSERT_TRUE(there) << "what it needs is gone: " << there.error().message();
        claimed = *there;
        (void)writer.ship(state("b", 2));
        collect_all(writer);
      },
      [&] {
        acknowledged = 1;
        claimed.reset();
      },
      [&] {
        ASSERT_TRUE(claimed);
        int number = 1;
        while (number < 5 && *claimed != state("a", number)) ++number;
        ASSERT_LT(number, 5) << "it is no state of the other one";
        EXPECT_GE(number, acknowledged) << "what the other one shipped is lost";
      });
}

TEST_F(TwoWriters, TwoCopiesOfOneVolumeShip) {
  in_all_orders(
      [](Writer& writer) {
        (void)writer.ship(state("a", 2));
        (void)writer.ship(state("a", 3));
        collect_all(writer);
      },
      [](Writer& writer) {
        (void)writer.ship(state("b", 2));
        collect_all(writer);
        (void)writer.ship(state("b", 3));
      });
}

TEST_F(TwoWriters, BothTakeOver) {
  in_all_orders(
      [](Writer& writer) {
        if (!writer.take_over()) return;
        (void)writer.ship(state("a", 2));
      },
      [](Writer& writer) {
        if (!writer.take_over()) return;
        (void)writer.ship(state("b", 2));
        collect_all(writer);
      });
}

}  // namespace
}  // namespace dedupfs
